"""Files that come with the program and are beside the package in a checkout: prompts, JSON Schemas and the example.

An installed wheel has them within the package (setup.py puts them there); both kinds of installation ask here.
"""

from pathlib import Path

from openclawbench.errors import UnreadableInput

PACKAGE = Path(__file__).parents[1]
INSIDE = "_resources"  # folder of the package that holds them where it is installed from a wheel
IN_CHECKOUT = {"prompts": "prompts", "schemas": "schemas", "example": "data/example"}  # name -> path in a checkout


def resource(name: str) -> Path:
    """The folder of that name. Raises UnreadableInput if the installation lacks it."""
    inside = PACKAGE / INSIDE
    path = inside / name if inside.is_dir() else PACKAGE.parents[1] / IN_CHECKOUT[name]
    if not path.is_dir():
        raise UnreadableInput(f"{path}: this installation lacks its {name}. Install it again.")
    return path


def checkout() -> Path:
    """The folder that holds the package, where it is a checkout. Raises UnreadableInput elsewhere: what asks for it
    writes there."""
    root = PACKAGE.parents[1]
    if not (root / "pyproject.toml").is_file():
        raise UnreadableInput(f"{root}: is not a checkout of the project, which this needs. Run it in one.")
    return root


def how_to_install(extra: str) -> str:
    """What to do where the packages of an extra are not there. `pip install '.[extra]'` is not it: in the checkout's
    own environment that puts a copy of the program in place of the checkout."""
    return (
        f"Install the extra `{extra}`: run `make setup` in the checkout; in an environment of your own, "
        f"pip install 'CHECKOUT[{extra}]', with the checkout's path"
    )


def how_to_install_apart(extra: str) -> str:
    """The same for an extra that is too large for `make setup`."""
    return (
        f"Install the extra `{extra}`, which is large and not part of `make setup`, in an environment of your own: "
        f"pip install 'CHECKOUT[{extra}]', with the checkout's path"
    )
