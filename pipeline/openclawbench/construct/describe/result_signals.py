"""What a tool result says about how it ended: details, JSON text, the tail of an output; one column per sign."""

from typing import Any

import msgspec
import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.construct.describe.envelopes import with_envelopes
from openclawbench.rules.construct.describe import TEXT_KINDS, DescribeRules, ReportRules
from openclawbench.rules.loading.tool_names import plain_column, plain_name, plain_names
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.regex_pool import collect_in_pool
from openclawbench.tables.schema import from_columns

BODY = {
    "status": pl.String,
    "exit_code": pl.Int64,
    "timed_out": pl.Boolean,
    "disabled": pl.Boolean,
    "tool": pl.String,
    "error": pl.String,
    "note": pl.String,
    "refusal": pl.String,
    "of_run": pl.Boolean,
    "success": pl.Boolean,
}

REPORT = {"report_status": pl.String, "report_number": pl.Boolean, "report_error": pl.String, "report_code": pl.Boolean}


class Body(msgspec.Struct):
    """What is looked for in a JSON result; everything else is skipped unread."""

    status: Any = None
    exitCode: Any = None
    exit_code: Any = None
    returncode: Any = None
    return_code: Any = None
    stdout: Any = None
    stderr: Any = None
    output: Any = None
    isError: Any = None
    is_error: Any = None
    success: Any = None
    timedOut: Any = None
    disabled: Any = None
    tool: Any = None
    error: Any = None
    message: Any = None
    reason: Any = None
    ok: Any = None
    result: msgspec.Raw = msgspec.Raw()
    receipt: msgspec.Raw = msgspec.Raw()


class Decision(msgspec.Struct):
    """What an authority decided of a call that had to be permitted."""

    outcome: str | None = None


class Receipt(msgspec.Struct):
    """The receipt of such a call, as simulated plants of aec-bench give it."""

    authority: Decision


CODES = ("exitCode", "exit_code", "returncode", "return_code")
PRINTED = ("stdout", "stderr", "output")
MESSAGES = ("error", "message", "reason", *PRINTED[1:])
DECODE_BODY = msgspec.json.Decoder(Body).decode
DECODE_RECEIPT = msgspec.json.Decoder(Receipt).decode
DECODE_REPORT = msgspec.json.Decoder().decode


def with_signs(steps: pl.LazyFrame, rules: DescribeRules) -> pl.DataFrame:
    """Every sign of how a result ended, each in a column of its own."""
    texts = pl.col("reflection_text")
    step_rows = steps.with_columns(text_body=pl.when(texts.str.starts_with("{")).then(texts)).collect()
    step_rows = lookup_join(step_rows, bodies(step_rows["result_details"], "details"), ["result_details"])
    text_bodies = bodies(step_rows["text_body"], "text")
    text_bodies = lookup_join(text_bodies, reports(text_bodies["text_body"], rules.status.report), ["text_body"])
    frame = lookup_join(step_rows, text_bodies, ["text_body"]).lazy()
    for columns in signal_columns(rules):
        frame = frame.with_columns_seq(columns)
    return with_envelopes(collect_in_pool(frame, "signs"), rules).drop(BETWEEN)


BETWEEN = [
    "plain",
    "spoken",
    "trusted",
    "looks",
    "reported",
    "said",
    "value",
    "call",
    "printed",
    "shown",
    "returns_content",
]  # columns on the way


@memoize
def signal_columns(rules: DescribeRules) -> list[list[pl.Expr]]:
    """The columns that lead to the signs, each group made of those before it."""
    status, plain = rules.status, pl.col("plain")
    own = ~(pl.col("spoken") | pl.col("returns_content")) | (pl.col("text_tool") == plain)
    trusted = own.fill_null(False) | pl.col("text_of_run").fill_null(False) | prints_failure(rules)
    message = pl.coalesce("details_error", "text_error", "details_note", "text_note", "reflection_text", pl.lit(""))
    at_end, at_front = (
        pl.col(name).str.extract(pattern).cast(pl.Int64, strict=False)
        for name, pattern in (("printed", status.exit_tail), ("shown", status.exit_head))
    )
    return [
        [plain_column("name").alias("plain"), pl.col("kind").is_in(TEXT_KINDS).fill_null(False).alias("spoken")],
        [returns_content(rules).alias("returns_content")],
        [
            trusted.alias("trusted"),
            (pl.col("spoken") | plain.is_in(plain_names(status.process_tools)).fill_null(False)).alias("prints"),
        ],
        [pl.when("trusted").then(name).alias(name) for name in (*(f"text_{name}" for name in BODY), *REPORT)],
        *text_status(rules),
        [pl.coalesce("text_error", "report_error", pl.when(~pl.col("looks")).then("text_refusal")).alias("text_error")],
        [message.alias("message")],
        [
            pl.when("prints").then("message").str.slice(-status.tail).alias("printed"),
            pl.when(pl.col("prints") & pl.col("result_is_error")).then("message").str.slice(0, 40).alias("shown"),
        ],
        [pl.coalesce("details_exit_code", "text_exit_code", at_end, at_front).alias("exit_code")],
    ]


def returns_content(rules: DescribeRules) -> pl.Expr:
    """True if a JSON text is what a tool found somewhere: a file, a page, an output."""
    status, body = rules.status, pl.when(pl.col("text_body").is_not_null() | pl.col("result_is_error").is_null())
    by_words = body.then("name").str.contains(status.content_names).fill_null(False)
    by_rule = pl.col("event_rule").is_in(status.content_rules).fill_null(False)
    return pl.col("plain").is_in(plain_names(status.content_tools)) | by_words | by_rule


def prints_failure(rules: DescribeRules) -> pl.Expr:
    """True if a command that does more than look prints nothing but a report that something failed."""
    status = rules.status
    failing = [*status.body_values, *(value for value in status.values if value.isdecimal())]
    is_report = pl.col("report_number").is_not_null()
    unsaid = is_report & pl.col("report_status").is_null() & pl.col("text_error").is_not_null()
    failed = (
        pl.col("report_status").str.to_lowercase().is_in(failing)
        | pl.col("report_error").is_not_null()
        | (is_report & (pl.col("text_exit_code") != 0)).fill_null(False)
        | unsaid
    )
    acts = pl.col("spoken") & ~pl.col("event_type").is_in(status.report.look_categories)
    return (acts & failed).fill_null(False)


def text_status(rules: DescribeRules) -> list[list[pl.Expr]]:
    """The columns that lead to text_status: what a JSON text says of the call, not of what the call is about."""
    status = rules.status
    is_report = pl.col("report_status").is_not_null()
    is_known_tool = pl.col("event_rule").is_in([rule.id for rule in rules.tools])
    is_asked = pl.when(is_report | pl.col("text_refusal").is_not_null())
    named = is_asked.then("name").str.contains(status.report.look_names).fill_null(False)
    looks = named | pl.col("event_type").is_in(status.report.look_categories)
    reported = ~pl.col("looks") | pl.col("report_code") | (pl.col("report_number") & pl.col("text_note").is_not_null())
    value = pl.col("value")
    may_be_asked = pl.when(value.is_in(list(status.asked_for)))
    call = pl.concat_str(
        may_be_asked.then("name"), may_be_asked.then("real_arguments"), separator=" ", ignore_nulls=True
    )
    asked = pl.any_horizontal(
        (value == code) & pl.col("call").str.contains(pattern) for code, pattern in status.asked_for.items()
    )
    believed = is_known_tool | value.is_in(status.body_values) | (pl.col("reported") & is_report)
    return [
        [looks.fill_null(False).alias("looks")],
        [reported.alias("reported")],
        [pl.coalesce(pl.when("reported").then("report_status"), "text_status").alias("said")],
        [pl.col("said").str.to_lowercase().alias("value")],
        [call.alias("call")],
        [pl.when(believed.fill_null(False) & ~asked.fill_null(False)).then("said").alias("text_status")],
    ]


def bodies(texts: pl.Series, prefix: str) -> pl.DataFrame:
    """What each distinct JSON text says, one row per text, columns of BODY behind the prefix."""
    distinct = texts.drop_nulls().unique(maintain_order=True).to_list()
    values = list(zip(*map(read_body, distinct), strict=True)) or [()] * len(BODY)
    schema = pl.Schema({texts.name: pl.String, **{f"{prefix}_{name}": kind for name, kind in BODY.items()}})
    return from_columns(dict(zip(schema, (distinct, *values), strict=True)), schema)


def read_body(text: str) -> tuple[Any, ...]:
    """Values of BODY, the tool by its plain name; nulls where the text is not a JSON object."""
    try:
        body = DECODE_BODY(text)
    except msgspec.MsgspecError:
        return (None,) * len(BODY)
    status = decided_outcome(body) if body.status is None else body.status
    error = body.error
    if isinstance(error, dict):
        error = error.get("message") or error.get("error") or error.get("code")
    error = error or refusal_within(body)
    if error is True or body.isError is True or body.is_error is True:
        error = message_of(body) or text
    code = next((code for code in map(body.__getattribute__, CODES) if is_exit_code(code)), None)
    return (
        str(status) if isinstance(status, str | int) and not isinstance(status, bool) else None,
        code,
        body.timedOut if isinstance(body.timedOut, bool) else None,
        body.disabled if isinstance(body.disabled, bool) else None,
        plain_name(body.tool) if isinstance(body.tool, str) else None,
        str(error) if isinstance(error, str | int) and error and not isinstance(error, bool) else None,
        next((value for value in (body.message, body.reason) if isinstance(value, str) and value), None),
        (message_of(body) or text) if is_refusal(body) else printed_refusal(body, code),
        code is not None and any(isinstance(getattr(body, name), str) for name in PRINTED),
        True if (body.ok is True or body.success is True) and not error else None,
    )


def decided_outcome(body: Body) -> str | None:
    """What an authority decided, by the receipt of a result; None where there is no such receipt."""
    if not bytes(body.receipt):
        return None
    try:
        return DECODE_RECEIPT(body.receipt).authority.outcome
    except msgspec.MsgspecError:
        return None


def printed_refusal(body: Body, code: int | None) -> str | None:
    """What a program that ended well printed of its failure, where it printed nothing else."""
    if code != 0 or not isinstance(body.stdout, str) or not body.stdout.startswith("{"):
        return None
    try:
        printed = DECODE_BODY(body.stdout)
    except msgspec.MsgspecError:
        return None
    return (message_of(printed) or body.stdout) if is_refusal(printed) else None


def is_refusal(body: Body) -> bool:
    """True if a result says that the call is not ok; "success" alone may be that of what the call was about."""
    return body.ok is False or (body.success is False and message_of(body) is not None)


def is_exit_code(value: object) -> bool:
    """True for a number that a program can end with."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31


def message_of(body: Body) -> str | None:
    """What a result says of its failure."""
    return next((text for text in map(body.__getattribute__, MESSAGES) if isinstance(text, str) and text), None)


def refusal_within(body: Body) -> str | None:
    """What an answer says that is not ok although the one around it is: {"ok": true, "result": {"ok": false, …}}."""
    while isinstance(body.ok, bool) and bytes(body.result):
        try:
            inner = DECODE_BODY(body.result)
        except msgspec.MsgspecError:
            return None
        if inner.ok is False:
            texts = (inner.error, inner.message, inner.reason)
            return next((text for text in texts if isinstance(text, str) and text), str(bytes(body.result), "utf-8"))
        body = inner
    return None


def reports(texts: pl.Series, rules: ReportRules) -> pl.DataFrame:
    """What each distinct text reports, one row per text that is a report.

    report_status: its status value, or a code of HTTP (report_number) as text; report_error: the message of one that
    says that it failed; report_code: it names an error code. A report is a short JSON object of the fields that the
    rules list and no others; a field that holds nothing does not count. Source: own choice (docs/why/decisions/).
    """
    distinct = texts.filter(texts.str.len_bytes() <= rules.longest).drop_nulls().unique(maintain_order=True)
    parsed = ((text, read_report(text, rules)) for text in distinct)
    rows = [(text, *row) for text, row in parsed if row]
    return pl.DataFrame(rows, schema={texts.name: pl.String, **REPORT}, orient="row")


def read_report(text: str, rules: ReportRules) -> tuple[Any, ...] | None:
    """Values of REPORT; None where the text is not a report."""
    try:
        body = DECODE_REPORT(text.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError):
        return None
    fields = {name: value for name, value in body.items() if value not in (None, "", [], {})} if body else {}
    if not fields or not fields.keys() <= rules.known:
        return None
    word = next((str(fields[name]) for name in rules.status if isinstance(fields.get(name), str)), None)
    number = http_code(fields, rules)
    code = next((str(fields[name]) for name in rules.error if fields.get(name)), None)
    refused = any(fields.get(name) is False for name in rules.success)
    why = next((fields[name] for name in rules.reason if isinstance(fields.get(name), str)), None)
    error = (why or code or text) if refused or code else None
    return number or word, number is not None, error, code is not None


def http_code(fields: dict[str, Any], rules: ReportRules) -> str | None:
    """The number of a failure in a status or a code field, as text."""
    values = (fields[name] for name in (*rules.status, *rules.code) if name in fields)
    numbers = (
        int(value) for value in values if isinstance(value, int) or (isinstance(value, str) and value.isdecimal())
    )
    return next(
        (str(number) for number in numbers if rules.lowest_failure <= number < rules.lowest_failure + 200), None
    )
