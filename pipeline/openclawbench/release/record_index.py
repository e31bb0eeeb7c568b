"""record_index.jsonl: for each record the digest of its line, and the inputs of the split that the line leaves out."""

from collections.abc import Iterator, Mapping, Set

import polars as pl

from openclawbench.base.canonical_json import canonical_bytes
from openclawbench.release.record_key import Key, key_of
from openclawbench.release.writer.staging_folder import StagingFolder
from openclawbench.tables.record import TRAJECTORY_KEY

INDEX_FILE = "record_index.jsonl"


def write_index(
    digests: Mapping[Key, str],
    redacted: Set[Key],
    basis: pl.LazyFrame,
    fingerprints: pl.LazyFrame,
    staging: StagingFolder,
) -> None:
    """Write the index. `digests`: of the released line of each record. The tables: LabelBasis and Fingerprint."""
    staging.write(INDEX_FILE, b"")
    for line in index_lines(digests, redacted, basis, fingerprints):
        staging.append(INDEX_FILE, line)


def index_lines(
    digests: Mapping[Key, str], redacted: Set[Key], basis: pl.LazyFrame, fingerprints: pl.LazyFrame
) -> Iterator[bytes]:
    """A line of RecordIndexRow a record, sorted by key."""
    keys = basis.select(*TRAJECTORY_KEY, "partial_trial").sort(TRAJECTORY_KEY)
    texts = fingerprints.select(*TRAJECTORY_KEY, "text_sha256")
    joined = keys.join(texts, on=TRAJECTORY_KEY, how="left", maintain_order="left").collect()
    own = pl.LazyFrame(sorted(redacted), dict.fromkeys(TRAJECTORY_KEY, pl.String), orient="row")
    minhashes = fingerprints.join(own, on=TRAJECTORY_KEY, how="semi").collect()
    minhash_of = {key_of(row): row["minhash"] for row in minhashes.iter_rows(named=True)}
    for row in joined.iter_rows(named=True):
        key = key_of(row)
        gone = key in redacted
        yield canonical_bytes(
            {
                **{name: row[name] for name in TRAJECTORY_KEY},
                "record_sha256": digests[key],
                "partial_trial": row["partial_trial"],
                "redacted": gone,
                "text_sha256": row["text_sha256"],
                "minhash": minhash_of.get(key),
            }
        )
