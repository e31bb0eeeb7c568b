"""Every setting, once: name, type, values, default, what it is good for, and where it may stand.

The settings files, the environment, the options of the command line, `doctor` and docs/reference/settings.md follow
from this table. It loads neither polars nor pydantic.
"""

import math
import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple

Kind = Literal["data", "cost", "address", "work", "call"]
# data: names the data or decides bytes; stands in the data folder's openclawbench.toml
# cost: decides what is paid; address: decides where sessions and keys go. In a data folder only after `config trust`
# work: how the work is done; wherever a setting may stand
# call: of one call; an option alone

ENVIRONMENT = "OPENCLAWBENCH_"
ACTIONS = ("block", "redact", "report")  # strictest first
NO_JUDGE, LANGUAGE_MODEL = JUDGES = ("none", "openai")  # without a judge nothing gets a label; ends a second pass
EMBEDDED = "rules"  # the embedded judge, which is not offered
TEST_JUDGE = f"{ENVIRONMENT}TEST_JUDGE"  # variable: the default judge of the tests of this program
TRUE, FALSE = ("true", "yes", "on", "1", "t", "y"), ("false", "no", "off", "0", "f", "n")
ALIKE = 0.75  # how near a name must be to be what was meant


class Setting(NamedTuple):
    """A setting. `help`: of its option; `means`: what docs/reference/settings.md says of its values and its default."""

    name: str
    type: type
    kind: Kind
    help: str
    means: str
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None  # the smallest number
    positive: bool = False  # a number above 0
    has_flag: bool = True
    flag_text: str = ""  # of a setting that has another option, or none of its own name
    not_offered: tuple[str, ...] = ()  # values that are read, and not among the choices that are named

    @property
    def variable(self) -> str | None:
        """The environment variable; None for an option alone."""
        return None if self.kind == "call" else f"{ENVIRONMENT}{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The option."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_guarded(self) -> bool:
        """True if a data folder may not set it before the user trusts the folder."""
        return self.kind in ("cost", "address")

    def read(self, value: Any) -> Any:
        """The value of the right type. Raises ValueError with the end of a sentence: what is wrong and what to give."""
        read = READERS[self.type](value)
        if self.choices and read not in self.choices + self.not_offered:
            raise ValueError(f"there is no such {self.name}{meant(str(read), self.choices) or '.'} {use(self.choices)}")
        if isinstance(read, int | float) and not isinstance(read, bool):
            if self.least is not None and read < self.least:
                raise ValueError(f"is too small. Give {self.least:g} or more")
            if self.positive and read <= 0:
                raise ValueError("is too small. Give a number above 0")
        return read


def default_of(setting: Setting) -> Any:
    """The value where nobody gives one."""
    return os.environ.get(TEST_JUDGE, setting.default) if setting.name == "judge" else setting.default


def as_text(value: Any) -> str:
    """A text. Raises ValueError."""
    if not isinstance(value, str) or not value:
        raise ValueError("is not a text. Write it between quotation marks")
    return value


def as_whole_number(value: Any) -> int:
    """A whole number. Raises ValueError."""
    try:
        if isinstance(value, bool) or float(value) != int(value):
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("is not a number. Give a whole number") from None


def as_number(value: Any) -> float:
    """A finite number. Raises ValueError."""
    try:
        if isinstance(value, bool) or not math.isfinite(number := float(value)):
            raise ValueError
        return number
    except (TypeError, ValueError, OverflowError):
        raise ValueError("is not a number. Give a number") from None


def as_truth(value: Any) -> bool:
    """True or false. Raises ValueError."""
    written = str(value).lower()
    if written not in TRUE + FALSE:
        raise ValueError("is neither true nor false. Give true or false")
    return written in TRUE


READERS: dict[type, Callable[[Any], Any]] = {str: as_text, int: as_whole_number, float: as_number, bool: as_truth}


def use(choices: Iterable[str]) -> str:
    """What there is to choose from."""
    return f"Use one of: {', '.join(choices)}"


def meant(name: str, known: Iterable[str]) -> str:
    """`; did you mean "…"?`, or nothing if no name is near."""
    names = [*known]
    begun = [other for other in names if name and other.startswith(f"{name}_")]
    close = get_close_matches(name, names, n=1, cutoff=ALIKE) or begun[:1]
    return f'; did you mean "{close[0]}"?' if close else ""


TABLE: tuple[Setting, ...] = (
    Setting(
        "raw",
        str,
        "data",
        "Raw sessions: RAW/<source_model>/**/*.jsonl; s3://… too.",
        "`raw/` in the data folder; `s3://bucket/prefix` too",
    ),
    Setting(
        "oracle",
        str,
        "data",
        "Outcomes: a JSONL file, a BFCL tree, or a folder of them.",
        "`oracle/` in the data folder, if it is there",
    ),
    Setting(
        "rules",
        str,
        "data",
        "",
        "a folder whose `*.toml` (`publish.toml` too), in folders or not, take the place of shipped ones of the same "
        "name; a misspelt name is an error; `doctor` lists them; `openclawbench demo --files FOLDER` copies the "
        "shipped ones",
        has_flag=False,
    ),
    Setting("prompts", str, "data", "", "a folder that takes the place of `prompts/`", has_flag=False),
    Setting(
        "prompt_versions",
        str,
        "data",
        "",
        "the newest of each stage; `a=v1,b1=v1` pins them",
        has_flag=False,
    ),
    Setting(
        "judge",
        str,
        "data",
        "openai, a language model (the default with --model), or none: a release without labels.",
        "`none`: what is known is released without labels; `openai` is a language model, the default where `model` is "
        "given",
        default=NO_JUDGE,
        choices=JUDGES,
        not_offered=(EMBEDDED,),
    ),
    Setting("model", str, "data", "Language model to ask.", "none"),
    Setting(
        "second_judge",
        str,
        "data",
        "",
        "none: there is no second pass",
        choices=(LANGUAGE_MODEL, NO_JUDGE),
        not_offered=(EMBEDDED,),
        has_flag=False,
        flag_text="`annotate --pass 2 --judge`",
    ),
    Setting("second_model", str, "data", "", "none", has_flag=False, flag_text="`annotate --pass 2 --model`"),
    Setting(
        "unmatched",
        str,
        "data",
        "Sessions without an outcome: exclude (from slices) or review.",
        "`exclude`, or what `packet.toml` says; `review` asks for a person",
        choices=("exclude", "review"),
    ),
    Setting(
        "blind",
        bool,
        "data",
        "Show the judge neither outcome nor risk, slice or onset candidates.",
        "false, or what `packet.toml` says",
    ),
    Setting(
        "test_share",
        float,
        "data",
        "Share of the records on the test side, from 0 to 1.",
        "what `release.toml` says",
        least=0,
    ),
    Setting(
        "on_keys",
        str,
        "data",
        "Released text that looks like a key: block (the default), redact or report.",
        "`block`, `redact` or `report`: what looks like a key in released text; `block`, or what `privacy.toml` says",
        choices=ACTIONS,
    ),
    Setting(
        "on_personal",
        str,
        "data",
        "E-mail addresses, telephone, account and card numbers, user names in paths: report (the default), redact or "
        "block.",
        "the same of e-mail addresses, telephone, account and card numbers, and user names in paths; `report`",
        choices=ACTIONS,
    ),
    Setting(
        "noncommercial",
        str,
        "data",
        "Sessions whose licence allows no commercial use: refuse (the default) or accept.",
        "`refuse`: sessions whose licence allows no commercial use are quarantined; `accept`: all your use is "
        "non-commercial ([licences](../guides/scored_sessions.md#licences))",
        default="refuse",
        choices=("refuse", "accept"),
    ),
    Setting(
        "jsonl",
        str,
        "data",
        "JSONL files of the release: plain (the default), gz or zst.",
        "`plain`, `gz` or `zst`: JSONL files of a release; `plain`, or what `publish.toml` says",
        choices=("plain", "gz", "zst"),
    ),
    Setting(
        "quarantine_limit",
        int,
        "work",
        "",
        "0: one quarantined file is enough for exit status 1",
        default=0,
        least=0,
        has_flag=False,
    ),
    Setting(
        "base_url",
        str,
        "address",
        "Address of the OpenAI-compatible endpoint; default: OPENAI_BASE_URL.",
        "`$OPENAI_BASE_URL`, else OpenAI's",
    ),
    Setting(
        "budget_usd",
        float,
        "cost",
        "USD that the ledger may hold at most; beyond, exit status 3.",
        "none; of everything in the ledger",
        least=0,
    ),
    Setting(
        "budget_tokens",
        int,
        "cost",
        "Tokens that the ledger may hold at most; beyond, exit status 3.",
        "none; of everything in the ledger",
        least=0,
    ),
    Setting(
        "price_in",
        float,
        "cost",
        "USD per million prompt tokens, instead of the price table.",
        "USD for a million tokens: `pipeline/openclawbench/rules/judge/prices.toml`",
        least=0,
    ),
    Setting("price_out", float, "cost", "USD per million answer tokens.", "the same of answers", least=0),
    Setting(
        "price_cached",
        float,
        "cost",
        "USD per million prompt tokens from the provider's cache.",
        "the same of prompts in the provider's cache",
        least=0,
    ),
    Setting(
        "parts",
        str,
        "address",
        "s3://bucket/prefix for parts of tables; default: the data folder.",
        "in the data folder; `s3://bucket/prefix`",
    ),
    Setting(
        "endpoint_url",
        str,
        "address",
        "Address of S3-compatible storage other than AWS.",
        "AWS's; of another store that speaks S3",
    ),
    Setting(
        "ray_address",
        str,
        "address",
        "host:port of a running Ray cluster; default: one on this machine.",
        "a Ray cluster of this machine alone",
    ),
    Setting(
        "engine",
        str,
        "work",
        "auto, serial, processes, ray: where shards are computed.",
        "`auto`: `processes` from 32 MB of sessions to redo, else `serial`; `ray`: many machines (extra `ray`); the "
        "bytes are the same",
        default="auto",
        choices=("auto", "serial", "processes", "ray"),
    ),
    Setting(
        "workers",
        int,
        "work",
        "Maximum number of processes; default: one per processor.",
        "one process for each processor",
        least=1,
    ),
    Setting("concurrency", int, "work", "Requests in flight.", "32 requests in flight", least=1),
    Setting(
        "rpm",
        float,
        "work",
        "Maximum number of requests a minute.",
        "requests a minute: as the endpoint's headers say",
        positive=True,
    ),
    Setting(
        "tpm",
        float,
        "work",
        "Maximum number of tokens a minute.",
        "tokens a minute: as the endpoint's headers say",
        positive=True,
    ),
    Setting(
        "transport",
        str,
        "work",
        "aiohttp, or openai: the client library.",
        "`aiohttp`; `openai` is the client itself, at ten times the cost a call",
        choices=("aiohttp", "openai"),
    ),
    Setting(
        "batch",
        bool,
        "work",
        "Ask in batches (OpenAI's Batch API): cheaper, within a day.",
        "question by question; `true`: OpenAI's Batch API, at half the price, within a day",
    ),
    Setting(
        "batch_files",
        str,
        "address",
        "Ask through files: a folder for requests in OpenAI's batch format, and their answers.",
        "a folder: requests are written there in OpenAI's batch format, and answers taken in from there "
        "([batch files](../guides/batch_files.md))",
    ),
    Setting(
        "shard",
        str,
        "call",
        "i/n: only share i (from 0) of n. A last run without it does what needs every share.",
        "everything; `i/n`: share i (from 0) of n, on any scheduler ([more than one machine](../guides/cluster.md))",
    ),
)
SETTINGS = {setting.name: setting for setting in TABLE}
OTHER_VARIABLES = {  # variables that are no setting: what each is for
    "OPENCLAWBENCH_DATA": ("`--data`", "`data`, the only folder written to"),
    "OPENCLAWBENCH_BFCL_PYTHON": ("`collect … --bfcl`", "the Python that has bfcl-eval: `bfcl/bin/python`"),
    "OPENCLAWBENCH_OPENCLAW": (
        "`collect run --openclaw`",
        "the folder of the npm package openclaw: that of the `openclaw` on the PATH",
    ),
    "OPENCLAWBENCH_NODE": ("`collect run --node`", "the Node that runs OpenClaw: the `node` on the PATH"),
}
