"""What a tool result says about how it ended: details, JSON text, the tail of an output; one column a sign."""

from typing import Any

import msgspec
import polars as pl

from pipeline.rules.describe import TEXT_KINDS, DescribeRules

BODY = {
    "status": pl.String,
    "exit_code": pl.Int64,
    "timed_out": pl.Boolean,
    "disabled": pl.Boolean,
    "tool": pl.String,
    "error": pl.String,
    "note": pl.String,
}


class Body(msgspec.Struct):
    """What is looked for in a JSON result; everything else is skipped unread."""

    status: Any = None
    exitCode: Any = None
    timedOut: Any = None
    disabled: Any = None
    tool: Any = None
    error: Any = None
    message: Any = None
    reason: Any = None


DECODER = msgspec.json.Decoder(Body)


def with_signs(steps: pl.LazyFrame, rules: DescribeRules) -> pl.LazyFrame:
    """Every sign of how a result ended, each in a column of its own."""
    texts = pl.col("reflection_text")
    wanted = steps.select("result_details", text_body=pl.when(texts.str.starts_with("{")).then(texts)).collect()
    details = bodies(wanted["result_details"], "details")
    found = bodies(wanted["text_body"], "text")
    frame = (
        steps.with_columns(text_body=pl.when(texts.str.starts_with("{")).then(texts))
        .join(details.lazy(), on="result_details", how="left", maintain_order="left")
        .join(found.lazy(), on="text_body", how="left", maintain_order="left")
    )
    look_up = pl.col("tool").str.to_lowercase()
    spoken = pl.col("kind").is_in(TEXT_KINDS)
    content = spoken.fill_null(False) | look_up.is_in(rules.status.content_tools)
    trusted = ~content | (pl.col("text_tool").str.to_lowercase() == look_up)
    frame = frame.with_columns(
        pl.when(trusted.fill_null(False)).then(pl.col(f"text_{name}")).alias(f"text_{name}") for name in BODY
    )
    known = pl.col("event_rule").is_in([rule.id for rule in rules.tools])
    believed = known | pl.col("text_status").str.to_lowercase().is_in(rules.status.body_values)
    frame = frame.with_columns(text_status=pl.when(believed).then("text_status"))
    message = pl.coalesce("details_error", "text_error", "details_note", "text_note", "reflection_text", pl.lit(""))
    prints = spoken.fill_null(False) | look_up.is_in(rules.status.process_tools).fill_null(False)
    printed = pl.when(prints).then(message).str.slice(-rules.status.tail)
    return frame.with_columns(
        message=message,
        prints=prints,
        exit_code=pl.coalesce(
            "details_exit_code",
            "text_exit_code",
            printed.str.extract(rules.status.exit_tail).cast(pl.Int64, strict=False),
        ),
    )


def bodies(texts: pl.Series, prefix: str) -> pl.DataFrame:
    """What each distinct JSON text says, one row a text, columns of BODY behind the prefix."""
    distinct = texts.drop_nulls().unique(maintain_order=True).to_list()
    rows = [(text, *read_body(text)) for text in distinct]
    schema = {texts.name: pl.String, **{f"{prefix}_{name}": kind for name, kind in BODY.items()}}
    return pl.DataFrame(rows, schema=schema, orient="row")


def read_body(text: str) -> tuple[Any, ...]:
    """Values of BODY; nulls where the text is no JSON object."""
    try:
        body = DECODER.decode(text.encode("utf-8", "replace"))
    except msgspec.MsgspecError:
        return (None,) * len(BODY)
    error = body.error
    if isinstance(error, dict):
        error = error.get("message") or error.get("error") or error.get("code")
    return (
        str(body.status) if isinstance(body.status, str | int) and not isinstance(body.status, bool) else None,
        body.exitCode if isinstance(body.exitCode, int) and abs(body.exitCode) < 2**31 else None,
        body.timedOut if isinstance(body.timedOut, bool) else None,
        body.disabled if isinstance(body.disabled, bool) else None,
        body.tool if isinstance(body.tool, str) else None,
        str(error) if isinstance(error, str | int) and error and not isinstance(error, bool) else None,
        next((one for one in (body.message, body.reason) if isinstance(one, str) and one), None),
    )
