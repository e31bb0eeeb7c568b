"""Fence: the delimited block that holds untrusted material in a prompt, and that it cannot close (own choice)."""

import re
from functools import cache

from openclawbench.base.canonical_json import sha256_text
from openclawbench.rules.judge.fence import FenceRules

NAME = re.compile(r"[A-Z][A-Z0-9_]*")
RAW_CONTROL = [chr(code) for code in range(0x20)]  # JSON text without layout holds none
# Characters to escape: control characters and line ends that JSON allows in a string, and the first character of a chat
# template's own tokens (fence.toml), so that a server that looks for such tokens in messages finds none in the
# material.
CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")


def delimit_material(material_json: str, name: str = "PACKET") -> str:
    r"""The material between the lines `BEGIN <name> <fence>` and `END <name> <fence>`, as the prompts describe it.

    `material_json` is JSON text on one line (canonical_json of a packet, of evidence or of earlier answers). The middle
    line has the same JSON value; control characters, line ends and the beginnings of chat-template tokens are written
    as \uXXXX. The fence is derived from the digest of the material: a text that held its own fence would have another
    digest. So nobody can guess a fence, and earlier answers that repeat a packet's fence are in a block with another
    fence. Raises ValueError if the material is not a single line or the name is not an upper-case word.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a name of a block")
    if control_characters := [character for character in RAW_CONTROL if character in material_json]:
        place = material_json.index(control_characters[0])
        raise ValueError(f"material is not JSON on one line: control character {control_characters[0]!r} at {place}")
    fence = fence_of(name, material_json)
    inside = material_json
    if not material_json.isascii() or "\x7f" in material_json:
        inside = CONTROL.sub(escape_character, inside)
    for pattern in fence_rules().patterns:
        inside = pattern.sub(escape_character, inside)
    return f"BEGIN {name} {fence}\n{inside}\nEND {name} {fence}"


@cache
def fence_rules() -> FenceRules:
    """Rules with the patterns of special tokens, read once."""
    return FenceRules.load()


def escape_character(match: re.Match[str]) -> str:
    r"""The matched character as JSON's \uXXXX."""
    return f"\\u{ord(match[0]):04x}"


def fence_of(name: str, material_json: str) -> str:
    """64 hex digits over the block's name and the digest of the material (of a packet: its packet_sha256)."""
    return sha256_text(f"fence\n{name}\n{sha256_text(material_json)}")
