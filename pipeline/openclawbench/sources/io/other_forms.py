"""Files of text in a form that is not read: known by how they begin, so that a person is told what to do."""

from openclawbench.sources.io.compression import is_packed

PACKED = {b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x04\x22\x4d\x18": "lz4", b"7z\xbc\xaf": "7z"}
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
    """What a file is and what to do, as two sentences; null where it is in no such form."""
    if is_packed(content):
        return "it is packed twice. Unpack it once"
    packed = next((name for magic, name in PACKED.items() if content.startswith(magic)), None)
    if packed is not None:
        return f"it is packed with {packed}, which is not read. Unpack it, or pack it with gzip or zstd"
    wide = next((name for mark, name in WIDE.items() if content.startswith(mark)), None)
    return None if wide is None else f"its text is {wide}. Convert it to UTF-8"
