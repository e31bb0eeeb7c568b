"""How a file's bytes are encoded, by its first bytes: gzip and zstd are decompressed, other encodings are named."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}

MAGIC_BYTES = max(map(len, MAGIC))
# Most bytes that a file is decompressed to: a few bytes can stand for more than any memory holds.
MOST_BYTES = 512 << 20
CHUNK = 16 << 20


class BrokenCompression(ValueError):
    """Compressed data that is cut off or damaged."""


def is_compressed(head: bytes) -> bool:
    """True for bytes that begin as compressed ones do."""
    return head.startswith(tuple(MAGIC))


def decompressed(data: bytes) -> bytes:
    """The bytes themselves, or what they were compressed from. BrokenCompression where the compressed data is,
    ValueError if it stands for more than MOST_BYTES."""
    if not is_compressed(data):
        return data
    kind = next(name for magic, name in MAGIC.items() if data.startswith(magic))
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(pa.BufferReader(data), kind) as stream:
            return read_limited(stream, data)
    except (OSError, pa.ArrowException) as error:
        raise BrokenCompression(f"broken {kind} data: {error}") from error


def read_limited(stream: "pa.CompressedInputStream", data: bytes) -> bytes:
    """All that a stream gives. ValueError if it is too much."""
    parts: list[bytes] = []
    size = 0
    while part := stream.read(CHUNK):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise ValueError(
                f"{len(data)} compressed bytes that stand for more than {MOST_BYTES >> 20} MB. Unpack the file if that "
                "is a session, or remove it."
            )
    return parts[0] if len(parts) == 1 else b"".join(parts)


UNREAD_COMPRESSIONS = {
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf": "7z",
}
WIDE = {  # longer marks first: one begins as another does
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"{\x00\x00\x00": "UTF-32",
    b"\x00\x00\x00{": "UTF-32",
    b"{\x00": "UTF-16",
    b"\x00{": "UTF-16",
}


def other_form(content: bytes) -> str | None:
    """What a file is and what to do, as two sentences; None if it is in no such form."""
    if is_compressed(content):
        return "it is packed twice. Unpack it once"
    compression = next((name for magic, name in UNREAD_COMPRESSIONS.items() if content.startswith(magic)), None)
    if compression is not None:
        return f"it is packed with {compression}, which is not read. Unpack it, or pack it with gzip or zstd"
    wide = next((name for mark, name in WIDE.items() if content.startswith(mark)), None)
    return None if wide is None else f"its text is {wide}. Convert it to UTF-8"
