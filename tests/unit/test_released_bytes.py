"""Every released byte is searched: names, comments, metadata; and a reader is told of rules that let more pass."""

import struct
import zlib
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openclawbench.errors import ReleaseBlocked
from openclawbench.release.card.card import widened_notice
from openclawbench.release.labels.labels import as_json
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.released_bytes import SIGNATURE, finds_in_files, refuse_keys
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.widened import widened
from openclawbench.release.provenance import rule_contents
from openclawbench.rules.loading.own_folder import shipped_path

RULES = PrivacyRules.load()
PRIVACY_FINDER = PrivacyFinder(RULES)
# Put together here, so that no scanner of this repository takes them for keys.
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
OTHER = "AKIA" + "Q3EGRJ7ZLNB5TQWD"


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I4s", len(body), kind) + body + struct.pack(">I", zlib.crc32(kind + body))


def png(*chunks: bytes, after: bytes = b"") -> bytes:
    pixels = chunk(b"IDAT", zlib.compress(b"\0" * 4))
    return SIGNATURE + chunk(b"IHDR", b"\0" * 13) + b"".join(chunks) + pixels + chunk(b"IEND", b"") + after


def parquet(metadata: dict[str, str], *, of_field: bool = False) -> bytes:
    kind = pa.field("a", pa.int64(), metadata=metadata if of_field else None)
    table = pa.table({"a": [1]}, schema=pa.schema([kind], metadata=None if of_field else metadata))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


PLANTED: dict[str, tuple[str, bytes]] = {
    "a comment of the settings": ("publish.toml", f"version = '1'\n# {TOKEN}\n".encode()),
    "a comment of the taxonomy": ("taxonomy.toml", f"# {OTHER}\n".encode()),
    "a prompt": ("prompts/a/1.md", f"Ask.\n\nexport AWS_ACCESS_KEY_ID={OTHER}\n".encode()),
    "metadata of a table": ("silver_train_labels.parquet", parquet({"note": TOKEN})),
    "metadata of a column": ("fulltax_prod_v1/m/master_table_all.parquet", parquet({"note": TOKEN}, of_field=True)),
    "text of a picture": ("statistics/gap.png", png(chunk(b"tEXt", b"Comment\0" + TOKEN.encode()))),
    "compressed text": ("statistics/gap.png", png(chunk(b"zTXt", b"Comment\0\0" + zlib.compress(TOKEN.encode())))),
    "international text": (
        "statistics/gap.png",
        png(chunk(b"iTXt", b"Comment\0\1\0\0\0" + zlib.compress(TOKEN.encode()))),
    ),
    "behind a picture": ("statistics/gap.png", png(after=TOKEN.encode())),
    "a drawing": ("statistics/gap.svg", f"<svg><desc>{TOKEN}</desc></svg>".encode()),
    "a label file": ("silver_train_labels.jsonl", b'{"a": 1}\n{"note": "' + TOKEN.encode() + b'"}\n'),
    "a name of a file": (f"prompts/a/{TOKEN}.md", b"Ask."),
    "a name of a folder": (f"fulltax_prod_v1/{OTHER}/summary.json", b"{}"),
    "a multi-line key": (
        "publish.toml",
        b"# -----BEGIN RSA PRIVATE"
        + b" KEY-----\n"
        + b"Zk4Rt9Wm2Xq7Lb5Vn8Cs3Df6Gh1J" * 3
        + b"\n# -----END RSA PRIVATE KEY-----",
    ),
}


REPEATS_RECORDS = {"a label file", "a drawing"}  # may hold what a record says, which `on_key = "report"` lets out


@pytest.mark.parametrize("place", PLANTED)
def test_a_key_outside_the_records_blocks_a_release(place: str, tmp_path: Path) -> None:
    name, content = PLANTED[place]
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    with pytest.raises(ReleaseBlocked, match="files besides the records hold keys") as caught:
        refuse_keys(tmp_path, PRIVACY_FINDER)
    assert TOKEN[4:20] not in str(caught.value)
    assert OTHER not in str(caught.value)
    redacting = PrivacyFinder(RULES.model_copy(update={"on_key": "redact"}))
    assert [*finds_in_files(tmp_path, redacting)], "nothing redacts these files"
    letting_out = PrivacyFinder(RULES.model_copy(update={"on_key": "report"}))
    assert bool([*finds_in_files(tmp_path, letting_out)]) == (place not in REPEATS_RECORDS)


def test_a_find_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "publish.toml").write_text(f"a = 1\n\n# {TOKEN}\n")
    (tmp_path / "labels.jsonl").write_text('{"a": 1}\n' * 3 + f'{{"note": "{TOKEN}"}}\n')
    assert [(find.file, find.line) for find in finds_in_files(tmp_path, PRIVACY_FINDER)] == [
        ("labels.jsonl", 4),
        ("publish.toml", 3),
    ]


def test_ordinary_files_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "publish.toml").write_text("contact = 'ada@analytical-engine.org'\n")
    (tmp_path / "a.png").write_bytes(png(chunk(b"tEXt", b"Software\0matplotlib 3.10")))
    (tmp_path / "broken.png").write_bytes(SIGNATURE + b"\xff\xff\xff\xff")
    (tmp_path / "a.parquet").write_bytes(parquet({"made_by": "x"}))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    pl.DataFrame({"a": ["x"]}).write_parquet(tmp_path / "b.parquet")
    (tmp_path / "sums.txt").write_text("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  a\n")
    assert [*finds_in_files(tmp_path, PRIVACY_FINDER)] == []


def test_the_rules_of_the_search_hold_nothing_that_they_find(tmp_path: Path) -> None:
    (tmp_path / "privacy.json").write_bytes(as_json(RULES.model_dump(mode="json")))
    (tmp_path / "rules.json").write_bytes(as_json(rule_contents({})))
    for name in ("publish.toml", "taxonomy.toml", "privacy.toml"):
        (tmp_path / name).write_bytes(shipped_path(name).read_bytes())
    assert [*finds_in_files(tmp_path, PRIVACY_FINDER)] == []


def test_rules_that_let_more_pass_are_said_on_the_card() -> None:
    assert widened(RULES) == []
    assert widened_notice([]) == ""
    wide = RULES.model_copy(update={"allow": [*RULES.allow, "(?s).*"], "on_key": "report", "rule": RULES.rule[1:]})
    phrases = widened(wide)
    assert [phrase.partition(" ")[0] for phrase in phrases] == ["`on_key", "1", "rules"]
    notice = widened_notice(phrases)
    assert notice.startswith("**These rules let more pass than those that come with OpenClawBench**")
    assert RULES.rule[0].kind in notice
    stricter = RULES.model_copy(update={"allow": RULES.allow[:1], "on_email": "block"})
    assert widened(stricter) == []
    milder = RULES.rule[5].model_copy(update={"allow": ["(?s).*"]})
    assert widened(RULES.model_copy(update={"rule": [*RULES.rule[:5], milder, *RULES.rule[6:]]}))
