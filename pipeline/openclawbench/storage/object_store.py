"""Object storage: a prefix such as `s3://bucket/corpus`, read and written through fsspec.

Credentials are whatever the store's own library finds (environment, profile, instance role). They are never named here,
so they cannot reach a file, a log or another machine. An object is put as a whole or not at all; objects have no
rename."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from openclawbench.base.resources import how_to_install
from openclawbench.errors import MissingExtra, StorageError, UsageError

Stamp = list[int]
S3 = ("s3", "s3a")


@dataclass(frozen=True)
class ObjectStore:
    """A prefix. Plain data, so that it can be sent to the processes that compute shards."""

    url: str
    endpoint_url: str | None = None  # of an S3-compatible store that is not AWS's

    def __post_init__(self) -> None:
        for address in (self.url, self.endpoint_url or ""):
            if "@" in urlsplit(address).netloc:
                raise UsageError(
                    "an address with a user or a key in it is refused: credentials go into the environment."
                )

    def __str__(self) -> str:
        return self.url

    @property
    def system(self) -> Any:
        """The store's file system, one a process."""
        return file_system(urlsplit(self.url).scheme, self.endpoint_url)

    def path(self, name: str) -> str:
        """The path of an object of the prefix in the store."""
        return f"{self.root}/{name}"

    @property
    def root(self) -> str:
        """The prefix as the store names it."""
        return str(self.system._strip_protocol(self.url)).rstrip("/")

    def names(self, folder: str) -> set[str]:
        """Names of the objects right below a folder of the prefix; a request for each thousand of them."""
        with as_storage_errors(self.url):
            paths = self.system.find(self.path(folder), maxdepth=1)
        return {str(path).rpartition("/")[2] for path in paths}

    def stamps(self) -> dict[str, Stamp]:
        """Every object below the prefix with its size, its time and the store's digest."""
        with as_storage_errors(self.url):
            entries = self.system.find(self.root, detail=True)
        length = len(self.root) + 1
        return {str(path)[length:]: stamp(about) for path, about in entries.items()}

    def exists(self) -> bool:
        """True if an object is below the prefix."""
        with as_storage_errors(self.url):
            return bool(self.system.exists(self.root))

    def read(self, name: str) -> bytes:
        """An object's bytes. Raises FileNotFoundError if it does not exist."""
        with as_storage_errors(self.url, FileNotFoundError):
            return bytes(self.system.cat_file(self.path(name)))

    def read_some(self, names: list[str]) -> dict[str, bytes | OSError]:
        """Bytes of several objects, fetched at the same time; an error in place of an object that cannot be read."""
        paths = {self.path(name): name for name in names}
        with as_storage_errors(self.url):
            contents = self.system.cat([*paths], on_error="return")
        return {
            paths[path]: content if isinstance(content, bytes) else as_os_error(content)
            for path, content in contents.items()
        }

    def write(self, name: str, content: bytes) -> None:
        """Put an object, over what is there."""
        with as_storage_errors(self.url):
            self.system.pipe_file(self.path(name), content)

    def put(self, local: Path, name: str) -> None:
        """Put a file, over what is there."""
        with as_storage_errors(self.url):
            self.system.put_file(str(local), self.path(name))

    def create(self, name: str, content: bytes) -> bool:
        """Put a new object; false if it exists. Of several processes that try, one succeeds."""
        with as_storage_errors(self.url):
            try:
                self.system.pipe_file(self.path(name), content, mode="create")
            except FileExistsError:
                return False
            except OSError as error:
                if self.system.exists(self.path(name)):
                    return False
                raise error from None
        return True

    def fetch(self, names: Iterable[str], local: Iterable[Path]) -> None:
        """Get objects, several at a time, each under the path given for it."""
        paths = [self.path(name) for name in names]
        with as_storage_errors(self.url):
            if paths:
                self.system.get(paths, [str(path) for path in local])

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects, a request for each thousand of them."""
        paths = [self.path(name) for name in names]
        with as_storage_errors(self.url):
            if paths:
                self.system.rm(paths)


def is_url(place: object) -> bool:
    """True for an address; false for a path."""
    return "://" in str(place)


@lru_cache
def file_system(scheme: str, endpoint_url: str | None) -> Any:
    """fsspec's file system for a scheme. Raises MissingExtra if its library is not installed."""
    import fsspec

    options: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
    if endpoint_url is not None and scheme in S3:
        options["endpoint_url"] = endpoint_url
    try:
        return fsspec.filesystem(scheme, **options)
    except ImportError as error:
        extra = "s3" if scheme in S3 else None
        advice = how_to_install(extra) if extra else f"Install what it names: {error}"
        raise MissingExtra(f"{scheme}:// cannot be read without a package that is not installed. {advice}.") from error
    except ValueError as error:
        raise UsageError(f"{scheme}://: no object storage of this kind is known. Use s3://bucket/prefix.") from error


@contextlib.contextmanager
def as_storage_errors(url: str, *expected: type[OSError]) -> Iterator[None]:
    """Turn errors of the store's library into one sentence; expected errors stay as they are."""
    try:
        yield
    except failures() as error:
        if isinstance(error, expected):
            raise
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise StorageError(
            f"{url}: {why}. Check the address, --endpoint-url and the credentials in the environment; every part that "
            "was put is whole, and the same command goes on."
        ) from error


def as_os_error(error: BaseException) -> OSError:
    """The error of one of several objects."""
    return error if isinstance(error, OSError) else OSError(f"{type(error).__name__}: {error}".splitlines()[0])


@lru_cache
def failures() -> tuple[type[BaseException], ...]:
    """Exceptions of the libraries of stores: botocore's errors are not OSErrors."""
    try:
        from botocore.exceptions import BotoCoreError
    except ImportError:
        return (OSError,)
    return (OSError, BotoCoreError)


def stamp(about: dict[str, Any]) -> Stamp:
    """A value that changes when the object does."""
    changed, tag = about.get("LastModified") or about.get("mtime") or 0, str(about.get("ETag", "")).strip('"')
    time_ns = int(changed.timestamp() * 1e9) if isinstance(changed, datetime) else int(changed * 1e9)
    digits = "".join(character for character in tag if character in "0123456789abcdef")[:15]
    return [int(about["size"]), time_ns, int(digits or "0", 16)]
