"""Options that many commands have in common: declared once, given to a command by a decorator."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

Values = dict[str, Any]  # setting -> value, null where no flag was given
Command = Callable[..., None]


def with_options(parameter: str, options: Mapping[str, tuple[Any, str]]) -> Callable[[Command], Command]:
    """Give a command these options (name -> type and help); they reach its parameter of this name as Values."""

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command)
        kept = [one for name, one in signature.parameters.items() if name != parameter]
        added = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[kind | None, typer.Option(f"--{name.replace('_', '-')}", help=text)],
            )
            for name, (kind, text) in options.items()
        ]

        @wraps(command)
        def called(*args: Any, **values: Any) -> None:
            given = {name: values.pop(name, None) for name in options}
            command(*args, **values, **{parameter: given})

        called.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
        return called

    return decorate
