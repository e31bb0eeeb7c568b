"""docs/reference/commands.md: every command with its arguments and options, from the Typer application."""

from typing import Any

import typer

from openclawbench.cli.app import app
from tools.site.markdown import cell, table

INTRODUCTION = """# Commands

Generated from the command line itself: `openclawbench COMMAND --help` says the same. Progress goes to stderr and
results to stdout; `--json` prints results for programs. [Settings](settings.md) lists what the environment and
`openclawbench.toml` can set instead of an option.

## Exit status

- **0**: done.
- **1**: the work ran, and a person must look at something: quarantined files over the limit, broken oracle lines, no
  session, or an export that had to leave stale shards out. The last line names it, and `status` lists each case.
- **2**: wrong use, or an input that the run cannot do without is not readable.
- **3**: stopped on purpose: Ctrl-C, a budget, or an endpoint that is down. It is safe to run again.

## All commands

```text
{help}
```

"""


def command_section(command: Any, context: Any, name: str) -> str:
    """Heading, description, usage and parameters of one command; of a group also its commands."""
    depth = "##" if name.count(" ") == 0 else "###"
    usage = " ".join([name, *map(str.upper, command.collect_usage_pieces(context))])
    text = f"{depth} `{name}`\n\n{cell(command.help or '')}\n\n```text\nopenclawbench {usage}\n```\n\n"
    rows = [row for parameter in command.params if (row := parameter_row(parameter))]
    if rows:
        text += table(("argument or option", "default", "meaning"), rows) + "\n"
    for part, inner in getattr(command, "commands", {}).items():
        text += command_section(inner, type(context)(inner, parent=context, info_name=part), f"{name} {part}")
    return text


def parameter_row(parameter: Any) -> tuple[str, str, str] | None:
    """Cells of an argument or option; null for a hidden one."""
    if getattr(parameter, "hidden", False):
        return None
    if parameter.param_type_name == "argument":
        label, needed = parameter.metavar or parameter.name.upper(), ""
    else:
        label, needed = " ".join([*parameter.opts, *parameter.secondary_opts]), parameter.default
    shown = "" if needed in (None, False, "", ()) or callable(needed) else f"`{needed}`"
    return f"`{label}`".replace("|", "\\|"), shown, cell(getattr(parameter, "help", None) or "")


def commands_page() -> str:
    """The whole page, commands in the order of `openclawbench --help`."""
    program = typer.main.get_command(app)
    context = program.make_context("openclawbench", [], resilient_parsing=True)
    text = INTRODUCTION.format(help=program.get_help(context).strip())
    for name in program.list_commands(context):  # type: ignore[attr-defined]
        command = program.get_command(context, name)  # type: ignore[attr-defined]
        if command.hidden:
            continue
        text += command_section(command, type(context)(command, parent=context, info_name=name), name)
    return text
