"""Names that options offer, kept apart from the modules that know them, so that `--help` loads none of those.

tests/unit/test_start.py compares each with what it is the names of."""

ANSWER_FAULTS = (
    "truncated",
    "refusal",
    "empty",
    "too_long",
    "content_filter",
    "refused",
    "not_json",
    "not_an_object",
    "missing_fields",
    "extra_fields",
    "duplicate_fields",
    "wrong_enum",
    "schema",
    "wrong_trajectory",
)
CUTS = ("default", "paper")
PROTOCOLS = ("symbol", "json")
RULE_FILES = (
    "describe.toml",
    "shell.toml",
    "flags.toml",
    "language.toml",
    "align.toml",
    "risk.toml",
    "onset.toml",
    "packet.toml",
    "release.toml",
)
SCRIPTED = "scripted"
SIDES = ("train", "test")
STAGES = (
    "normalize",
    "enrich",
    "fuse",
    "slice",
    "onset",
    "packet",
    "stage-a",
    "stage-b1",
    "stage-b2",
    "stage-c",
    "annotate",
    "merge",
    "release",
)
TABLES = (
    "normalize",
    "files",
    "trace",
    "enrich",
    "fuse",
    "outcomes",
    "coverage",
    "unmatched-rows",
    "slice",
    "onset",
    "packet",
    "packet-cuts",
    "stage-a",
    "stage-b1",
    "stage-b2",
    "stage-c",
    "annotate",
    "merge",
    "labels",
)
TABLE_FORMATS = ("jsonl", "parquet", "csv")
TRAJECTORY_FORMS = ("atif", "scout", "pi")
