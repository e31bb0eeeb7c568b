"""Fence: the delimited block in which untrusted material stands in a prompt, and which it cannot close (own choice)."""

import re
from functools import cache

from openclawbench.base.canonical_json import sha256_text
from openclawbench.rules.fence import FenceRules

NAME = re.compile(r"[A-Z][A-Z0-9_]*")
RAW_CONTROL = [chr(code) for code in range(0x20)]  # JSON text without layout holds none
# What is written out: control characters and line ends that JSON lets stand in a string, and the places where a chat
# template's own tokens begin (rules/fence.toml), so that a server that looks for them in messages finds none in the
# material.
CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")


def delimited(material_json: str, name: str = "PACKET") -> str:
    r"""The material between the lines `BEGIN <name> <fence>` and `END <name> <fence>`, as the prompts describe it.

    `material_json` is JSON text on one line (canonical_json of a packet, of evidence or of earlier answers); it comes
    back from the middle line with the same value; control characters, line ends and the beginnings of chat-template
    tokens are written there as \uXXXX. The fence is derived from the digest of the material: a text that held its own
    fence would have another digest, so none can be guessed, and earlier answers that repeat a packet's fence stand in a
    block with another one. Raises ValueError where the material is not a single line or the name no upper-case word.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a block")
    if control_characters := [character for character in RAW_CONTROL if character in material_json]:
        place = material_json.index(control_characters[0])
        raise ValueError(f"material is not JSON on one line: control character {control_characters[0]!r} at {place}")
    fence = fence_of(name, material_json)
    inside = material_json
    if not material_json.isascii() or "\x7f" in material_json:
        inside = CONTROL.sub(written_out, inside)
    for pattern in tokens().patterns:
        inside = pattern.sub(written_out, inside)
    return f"BEGIN {name} {fence}\n{inside}\nEND {name} {fence}"


@cache
def tokens() -> FenceRules:
    """Beginnings of tokens, read once."""
    return FenceRules.load()


def written_out(match: re.Match[str]) -> str:
    r"""A character as JSON's \uXXXX."""
    return f"\\u{ord(match[0]):04x}"


def fence_of(name: str, material_json: str) -> str:
    """64 hex digits over the block's name and the digest of the material (of a packet: its packet_sha256)."""
    return sha256_text(f"fence\n{name}\n{sha256_text(material_json)}")
