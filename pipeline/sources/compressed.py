"""Files as they lie on disk -> bytes: .gz and .zst inputs are read through, known by their magic, not their name."""

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}

MAGIC_BYTES = max(map(len, MAGIC))


def is_packed(head: bytes) -> bool:
    """True for bytes that begin as compressed ones do."""
    return head.startswith(tuple(MAGIC))


def decompressed(data: bytes) -> bytes:
    """The bytes themselves, or what they were compressed from. ValueError where the compressed data is broken."""
    if not is_packed(data):
        return data
    kind = next(name for magic, name in MAGIC.items() if data.startswith(magic))
    import pyarrow as pa  # takes a quarter of a second, which most commands can do without

    try:
        with pa.CompressedInputStream(pa.BufferReader(data), kind) as stream:
            return bytes(stream.read())
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"broken {kind} data: {error}") from error
