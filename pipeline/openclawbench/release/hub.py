"""Upload of a release to the Hugging Face Hub through `huggingface_hub`, in one commit, so that it is never incomplete.

The library is the extra `hub`. Its token comes from HF_TOKEN or from its own login; nothing here reads or writes it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, cast

from openclawbench.base.resources import how_to_install
from openclawbench.errors import HubRefused, UsageError

KIND = "dataset"
KEPT = ".gitattributes"  # the Hub's own file: which files are large
NO_LIBRARY = f"push: huggingface_hub is not installed. {how_to_install('hub')}."


class Upload(NamedTuple):
    """The result of an upload."""

    commit: str  # address
    added: int  # files of the release
    removed: int  # files of a former release that this one does not have
    private: bool


def push(release: Path, repo: str, public: bool) -> Upload:
    """Replace the repository's files by those of the release, in one commit. Large files that the Hub already has, for
    example after an interrupted call, are not sent again.

    Raises UsageError if the library is not installed, the token is missing, or the repository is public without
    `public`; and HubRefused if the Hub refuses or cannot be reached.
    """
    if find_spec("huggingface_hub") is None:
        raise UsageError(NO_LIBRARY)
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, get_token

    if get_token() is None:
        raise UsageError("push: there is no token. Set HF_TOKEN, or log in with `hf auth login`.")
    api = HfApi()
    with refusals(repo):
        api.create_repo(repo, repo_type=KIND, private=not public, exist_ok=True)
        private = bool(api.repo_info(repo, repo_type=KIND).private)
        if not private and not public:
            raise UsageError(f"push: {repo} is public. Say --public, or name another repository.")
        names = sorted(path.relative_to(release).as_posix() for path in release.rglob("*") if path.is_file())
        gone = sorted(set(api.list_repo_files(repo, repo_type=KIND)) - {*names, KEPT})
        operations: list[Any] = [CommitOperationDelete(path_in_repo=name) for name in gone]
        operations += [CommitOperationAdd(path_in_repo=name, path_or_fileobj=release / name) for name in names]
        commit = api.create_commit(repo, operations, commit_message=f"Release of {len(names)} files", repo_type=KIND)
    return Upload(str(commit.commit_url), len(names), len(gone), private)


@contextmanager
def refusals(repo: str) -> Iterator[None]:
    """Turn the library's exceptions into one error with a sentence. Their messages hold no headers, so no token."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    # Exceptions of the library's HTTP client, which differs between versions of the library.
    lost = (cast("type[Exception]", next(kind for kind in HfHubHTTPError.__mro__ if kind.__name__ == "HTTPError")),)
    try:
        yield
    except HFValidationError as error:
        raise UsageError(f"push: {repo} cannot be a repository: {first_line(error)}. Name it as owner/name.") from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        reply = error.server_message or first_line(error)
        raise HubRefused(f"push {repo}: the Hub refuses with {status}: {reply}. {advice(status)}") from error
    except (OfflineModeIsEnabled, RuntimeError, ValueError, OSError, *lost) as error:
        message = f"push {repo}: the upload broke off: {first_line(error)}. Run it again: what has arrived stays there."
        raise HubRefused(message) from error


def advice(status: int) -> str:
    """Advice for an HTTP status."""
    if status in (401, 403):
        return "Use a token that may write to this repository (HF_TOKEN)."
    if status == 404:
        return "Check the owner's name, and that the token may write there."
    return "Run it again later: what has arrived stays there."


def first_line(error: Exception) -> str:
    """The first line of an error's message."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
