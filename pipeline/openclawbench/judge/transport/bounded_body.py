"""Reading a response's body piece by piece, up to a limit on its decompressed size."""

import zlib
from collections.abc import AsyncIterator

from openclawbench.judge.transport.protocol import TransientError

PIECE = 1 << 16
ENCODINGS = {"": None, "identity": None, "gzip": 31, "x-gzip": 31, "deflate": 47}  # Content-Encoding -> zlib's window
ACCEPTED = "gzip, deflate"


async def decompress_body(pieces: AsyncIterator[bytes], encoding: str, most: int) -> AsyncIterator[bytes]:
    """Yield a body decompressed, in small pieces.

    Raises TransientError if it exceeds `most` bytes, has an encoding that was not requested, or is cut off."""
    window = ENCODINGS.get(encoding.strip().lower(), 0)
    if window == 0:
        raise TransientError("unknown_encoding", may_be_paid=True, words=encoding[:50], again=False)
    unpacker = None if window is None else zlib.decompressobj(window)
    size = 0
    async for piece in pieces:
        rest = piece
        while rest:
            try:
                data, rest = (rest, b"") if unpacker is None else decompress_piece(unpacker, rest)
            except zlib.error as error:
                raise TransientError("connection_lost", may_be_paid=True, words=str(error)) from error
            size += len(data)
            if size > most:
                raise TransientError("answer_too_large", may_be_paid=True, words=f"more than {most} bytes", again=False)
            yield data
    if unpacker is not None and size and not unpacker.eof:
        raise TransientError("connection_lost", may_be_paid=True, words="the compressed body is not whole")


def decompress_piece(unpacker: "zlib._Decompress", data: bytes) -> tuple[bytes, bytes]:
    """At most PIECE decompressed bytes of a piece, and the rest of the piece."""
    start = unpacker.decompress(data, PIECE)
    rest = unpacker.unconsumed_tail
    return start, b"" if unpacker.eof else rest


async def read_body(pieces: AsyncIterator[bytes], encoding: str, most: int) -> bytes:
    """The decompressed body. Raises what `decompress_body` raises."""
    return b"".join([piece async for piece in decompress_body(pieces, encoding, most)])
