"""`openclawbench detect prompt`: what a detector is asked, letter for letter."""

from typing import Annotated

import typer

from openclawbench.base.terminal import errors, output, pluralize, safe
from openclawbench.cli.commands.detect.options import DEFAULT_PROTOCOL, Protocol, Release, TokenizerPath, release_of
from openclawbench.cli.options import DATA, Data, Json
from openclawbench.errors import NotFound


def prompt(
    trajectory: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="Trajectory id or MODEL/ID; without it the instructions alone are printed."),
    ] = None,
    data: Data = DATA,
    release: Release = None,
    protocol: Protocol = DEFAULT_PROTOCOL,
    tokenizer: TokenizerPath = None,
    json_out: Json = False,
) -> None:
    """The messages that a detector is sent about a trajectory: no outcome, risk, slice or word of a judge."""
    from openclawbench.detect.labels import find_keys, read_packets
    from openclawbench.detect.packet import detector_messages, detector_prompt
    from openclawbench.detect.settings import DetectRules, check_protocol
    from openclawbench.detect.tokenizer import load_tokenizer, token_counter
    from openclawbench.reports.files import as_json

    check_protocol(protocol)
    rules, instructions = DetectRules.load(), detector_prompt(protocol)
    if trajectory is None:
        if json_out:
            about = {"stage": instructions.stage, "version": instructions.version, "sha256": instructions.sha256}
            print(as_json({**about, "text": instructions.text, "symbols": rules.symbols}), end="")
        else:
            output().print(safe(instructions.text), highlight=False)
        return
    root = release_of(release, data)
    keys = find_keys(root, trajectory)
    if len(keys) != 1:
        first_keys = ", ".join("/".join(key) for key in keys[:5])
        raise NotFound(
            f"{root}: {f'{trajectory} is one of {first_keys}' if keys else f'has no trajectory {trajectory}'}."
        )
    count = None if tokenizer is None else token_counter(load_tokenizer(tokenizer))
    packet = next(read_packets(root, set(keys), rules.packet, count))
    messages = detector_messages(packet.text, instructions)
    if json_out:
        print(as_json({"messages": messages, "packet": packet.model_dump(exclude={"text"})}), end="")
        return
    for message in messages:
        output().print(f"--- {message['role']}\n{safe(message['content'])}", highlight=False)
    counted = "" if tokenizer is not None else "about "
    errors().print(
        f"{counted}{pluralize(packet.estimated_tokens, 'token')} of the trajectory; {packet.characters_left_out} of "
        f"{pluralize(packet.characters, 'character')} left out; {pluralize(packet.blocks_left_out, 'block')} whole",
        highlight=False,
    )
