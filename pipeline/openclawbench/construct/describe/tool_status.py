"""How a call ended: any sign of failure wins, the most specific kind names it (event_guide.md: tool_status)."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.construct.describe.result_signals import with_signs
from openclawbench.rules.construct.describe import DescribeRules, FailureRule, StatusRules
from openclawbench.rules.loading.patterns import union
from openclawbench.rules.loading.tool_names import plain_column, plain_names
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.regex_pool import collect_in_pool

ENVELOPE = "envelope"  # the sign that an envelope gives; its rule is that envelope
ANSWERED = pl.col("has_result") & ~pl.col("result_synthetic")


def statuses(steps: pl.LazyFrame, rules: DescribeRules) -> pl.LazyFrame:
    """The steps with tool_status, status_rule (null for replies), executed, gap_rule and said_so.

    Reads the columns of Step and the call's kind, tool, name and exit_one_ok. executed is false where nothing was done
    (an unknown tool, refused arguments, an open approval); gap_rule: of the failure that says that the tool is not
    there; said_so: the status is what a result says, not what a missing one implies. Source: event_guide.md.
    """
    frame = with_signs(steps, rules).lazy()
    for columns in by_structure(rules):
        frame = frame.with_columns_seq(columns)
    with_signals = collect_in_pool(frame, "statuses").with_row_index("row")
    frame = lookup_join(with_signals, failures(with_signals, rules), ["row"]).lazy()
    for columns in status_columns(rules):
        frame = frame.with_columns_seq(columns)
    return frame


@memoize
def by_structure(rules: DescribeRules) -> list[list[pl.Expr]]:
    """The columns that lead to `structural` and to the texts that are searched, each group made of those before it."""
    return [
        [of_subject(rules)],
        kinds(rules.status),
        [condition.alias(sign(rule)) for rule, condition in evidence(rules).items()],
        [has_structural_failure(rules).alias("structural")],
        searched_texts(rules),
    ]


def failures(steps: pl.DataFrame, rules: DescribeRules) -> pl.DataFrame:
    """What may have failed: row, failing (a sign of failure is there), cleared (the rule that takes it back),
    failed_case (the number of the case of a failure), refused (it says that nothing was done) and gap_rule.

    Nine of ten results show no failure. They are left out first, because polars would search their texts as well.
    """
    frame = steps.lazy().filter(pl.col("whole").is_not_null())
    for columns in of_failures(rules):
        frame = frame.with_columns_seq(columns)
    return collect_in_pool(
        frame.select_seq("row", "failing", "cleared", "failed_case", "refused", "gap_rule"), "statuses"
    )


@memoize
def of_failures(rules: DescribeRules) -> list[list[pl.Expr]]:
    """The columns that lead to those of failures, each group made of those before it."""
    failed = pl.col("failing") & pl.col("cleared").is_null()
    decided = [(place, case.holds) for place, case in enumerate(status_cases(rules)) if case.failure]
    numbers = (pl.when(failed & holds).then(pl.lit(place, pl.UInt16)) for place, holds in decided)
    case = pl.coalesce(*numbers, pl.lit(None, pl.UInt16))
    gap = first_hit([rule for rule in rules.failures if rule.gap])
    return [
        [pl.col("head").str.split("\n").list.first()],
        [only_with_any(rules, where) for where in ("whole", "head", "tail")],
        [pl.struct(failure_in_text(rule).alias(rule.id) for rule in rules.failures).alias("hits")],
        [is_failing(rules).alias("failing")],
        [pl.when(pl.col("failing") | may_clear(rules)).then(clearing_rule(rules)).alias("cleared")],
        [
            case.alias("failed_case"),
            (pl.col("failing") & is_refusal(rules)).alias("refused"),
            pl.when("failing").then(gap).alias("gap_rule"),
        ],
    ]


@memoize
def status_columns(rules: DescribeRules) -> list[list[pl.Expr]]:
    """The columns of statuses, of what structure and failures say, each group made of those before it."""
    call = pl.col("action_kind") == "tool_call"
    cases = status_cases(rules)
    holds = [(case.failure, pl.when(case.holds).then(pl.lit(place, pl.UInt16))) for place, case in enumerate(cases)]
    first = next((place for place, (failure, _) in enumerate(holds) if failure), 0)
    others = [shown for failure, shown in holds if not failure]
    case = pl.coalesce(*others[:first], "failed_case", *others[first:])
    rule = pl.coalesce(
        case_values([case.rule for case in cases]), *(pl.when(call).then(name) for name in ("cleared", "said_rule"))
    )
    return [
        [pl.when(call).then(case).alias("case")],
        [
            case_values([case.value for case in cases]).alias("tool_status"),
            rule.alias("status_rule"),
            (~(ANSWERED & not_executed(rules)) | is_resolved_later(rules)).alias("executed"),
            ANSWERED.alias("said_so"),
        ],
    ]


def kinds(status: StatusRules) -> list[pl.Expr]:
    """details_kind and text_kind: what the status values of details and of a JSON text mean; None if unlisted, or
    where it is its subject's."""
    values = {
        place: pl.col(f"{place}_status").str.to_lowercase().replace_strict(status.values, default=None)
        for place in ("details", "text")
    }
    details = pl.when(pl.col("of_subject").is_null()).then(values["details"])
    return [details.alias("details_kind"), values["text"].alias("text_kind")]


def details_where(condition: pl.Expr) -> pl.Expr:
    """The details of a result where a condition holds, else an empty text, which costs a search nothing."""
    return pl.when(~condition.fill_null(False)).then(pl.lit("")).otherwise("result_details")


def of_subject(rules: DescribeRules) -> pl.Expr:
    """Id of the rule by which the status in the details is that of the call's subject."""
    name, value = plain_column("name"), pl.col("details_status").str.to_lowercase()
    cases = []
    for rule in rules.subjects:
        holds = name.is_in(plain_names(rule.tools)) & value.is_in(rule.values)
        if rule.beside is not None:
            holds = holds & details_where(holds).str.contains(rule.beside)
        cases.append(pl.when(holds).then(pl.lit(rule.id)))
    return pl.coalesce(*cases, pl.lit(None, pl.String)).alias("of_subject")


def may_clear(rules: DescribeRules) -> pl.Expr:
    """True if a text may take an open end back."""
    tools = [name for rule in rules.clears for name in rule.tools]
    is_open = pl.col("details_kind") == rules.status.unknown
    return (is_open & plain_column("name").is_in(plain_names(tools))).fill_null(False)


def searched_texts(rules: DescribeRules) -> list[pl.Expr]:
    """The texts that failure patterns look into: whole, head (its first line follows) and tail of a message; None if
    the pattern could not matter, so that it costs nothing. A text is a sign by itself only where details say nothing.
    """
    signed = pl.col("details_status").is_null()
    if all(rule.where == "tail" for rule in rules.failures if rule.sign):
        signed = signed & pl.col("prints")
    text = pl.when(ANSWERED & (pl.col("structural") | signed | may_clear(rules))).then("message")
    ordinary = ~pl.col("prints") | pl.col("text_tool").is_not_null()
    return [
        text.alias("whole"),
        pl.when(ordinary).then(text.str.slice(0, rules.status.head)).alias("head"),
        pl.when("prints").then(text.str.slice(-rules.status.tail)).alias("tail"),
    ]


def only_with_any(rules: DescribeRules, where: str) -> pl.Expr:
    """A text that contains any failure text, else an empty one: two thirds contain none, and need no search by each
    pattern. (If it were null, polars would search the text all the same.)"""
    has_any = pl.col(where).str.contains(union(rule.pattern for rule in rules.failures if rule.where == where))
    return pl.when(~has_any).then(pl.lit("")).otherwise(where).alias(where)


def failure_in_text(rule: FailureRule) -> pl.Expr:
    """True if a failure text is there: in a whole message, a tool's first line, or at the end of an output."""
    return pl.col(rule.where).str.contains(rule.pattern).fill_null(False)


def any_hit(failures: list[FailureRule]) -> pl.Expr:
    """True if one of these failure texts is there."""
    return pl.any_horizontal(pl.lit(False), *map(hit, failures))


def hit(rule: FailureRule) -> pl.Expr:
    """True if this failure text is there."""
    return pl.col("hits").struct.field(rule.id)


def first_hit(failures: list[FailureRule]) -> pl.Expr:
    """Id of the first of these rules whose failure text is there."""
    hits = (pl.when(hit(rule)).then(pl.lit(rule.id)) for rule in failures)
    return pl.coalesce(*hits, pl.lit(None, pl.String))


@memoize
def evidence(rules: DescribeRules) -> dict[str, pl.Expr]:
    """Each structural sign of failure by its rule id, as the kind that it says; None if it says nothing."""
    status = rules.status
    code = pl.col("exit_code")
    special = {exit_code.code: exit_code.kind for exit_code in rules.exit_codes}
    by_code = code.replace_strict(list(special), list(special.values()), default=status.error, return_dtype=pl.String)
    failures = rules.failure_statuses
    yes = {name: pl.any_horizontal(f"details_{name}", f"text_{name}") for name in ("timed_out", "disabled")}
    unsaid = pl.col("text_error").is_not_null() & pl.col("text_kind").is_null()
    return {
        ENVELOPE: pl.when(pl.col("said_status").is_in(failures)).then("said_status"),
        status.details_rule: pl.when(pl.col("details_kind").is_in(failures)).then("details_kind"),
        status.text_rule: pl.when(pl.col("text_kind").is_in(failures)).then("text_kind"),
        status.exit_rule: pl.when(code != 0).then(by_code),
        status.timed_out_rule: pl.when(yes["timed_out"]).then(pl.lit(status.timed_out)),
        status.disabled_rule: pl.when(yes["disabled"]).then(pl.lit(status.disabled)),
        status.body_error_rule: pl.when(unsaid).then(pl.lit(status.error)),
        status.is_error_rule: pl.when("result_is_error").then(pl.lit(status.error)),
    }


def is_said_ok(rules: DescribeRules) -> pl.Expr:
    """True if a field of the result, or of the JSON that it is, says that the call did not fail."""
    codes = pl.col("exit_code") == 0
    kinds = pl.any_horizontal(pl.col(kind) == rules.status.ok for kind in ("details_kind", "text_kind"))
    fields = pl.any_horizontal(~pl.col("result_is_error"), codes, kinds, "details_success", "text_success")
    return fields.fill_null(False)


def sign(rule: str) -> str:
    """The column of a structural sign."""
    return f"sign {rule}"


def has_structural_failure(rules: DescribeRules) -> pl.Expr:
    """True if a status, a code or a flag of the result says that the call failed."""
    return pl.any_horizontal(pl.col(sign(rule)).is_not_null() for rule in evidence(rules))


def is_failing(rules: DescribeRules) -> pl.Expr:
    """Any sign of failure. A text is one by itself only where no details say how the call ended."""
    signed = any_hit([rule for rule in rules.failures if rule.sign]) & pl.col("details_status").is_null()
    return pl.col("structural") | signed


def clearing_rule(rules: DescribeRules) -> pl.Expr:
    """Id of the rule that takes a failure back: a text that says so, or an exit code 1 that means "no match"."""
    status = rules.status
    name = plain_column("name")
    timed_out = pl.any_horizontal("details_timed_out", "text_timed_out").fill_null(False)
    no_match = (
        (pl.col("exit_code") == 1)
        & pl.col("exit_one_ok")
        & ~timed_out
        & ~pl.col("message").str.slice(-status.tail).str.contains(status.clear_unless)
    )
    texts = []
    for rule in rules.clears:
        of_tool = name.is_in(plain_names(rule.tools)).fill_null(False)
        words = pl.when(~of_tool).then(pl.lit("")).otherwise("message")  # an empty text costs a search nothing
        texts.append(pl.when(of_tool & words.str.contains(rule.pattern)).then(pl.lit(rule.id)))
    return pl.coalesce(*texts, pl.when(no_match).then(pl.lit(status.clear_rule)))


def is_refusal(rules: DescribeRules) -> pl.Expr:
    """True if a failure text says that nothing was done; of one program, where it is the only one."""
    answered = any_hit([rule for rule in rules.failures if rule.answered])
    refused = any_hit([rule for rule in rules.failures if not rule.executed and not rule.one_part])
    in_one_part = any_hit([rule for rule in rules.failures if not rule.executed and rule.one_part])
    return (refused & ~answered) | (in_one_part & ~pl.col("several_parts").fill_null(False))


def not_executed(rules: DescribeRules) -> pl.Expr:
    """True if the result says that nothing was done."""
    never = rules.status.not_executed
    value = pl.coalesce("details_status", "text_status").str.to_lowercase().is_in(never.values)
    disabled = pl.any_horizontal("details_disabled", "text_disabled")
    details = details_where(pl.col("effect").fill_null(False) & ~pl.col("prints")).str.contains(never.details)
    own = value.fill_null(False) & pl.col("of_subject").is_null()
    return pl.col("refused").fill_null(False) | own | disabled.fill_null(False) | details.fill_null(False)


def is_resolved_later(rules: DescribeRules) -> pl.Expr:
    """True if a later notice says how the command ended, so that it was executed after all."""
    resolved = pl.col("resolved_status")
    return (resolved.is_not_null() & ~resolved.is_in(rules.no_effect_statuses)).fill_null(False)


class StatusCase(NamedTuple):
    """A status with its rule, where a condition holds."""

    holds: pl.Expr
    value: str
    rule: str | None  # None: the rule that cleared it, else the envelope that says it
    failure: bool = False  # it is one only of a call that failed


def status_cases(rules: DescribeRules) -> list[StatusCase]:
    """How a call may have ended; the first that holds counts: a missing result, a failure by its kind, an open end,
    else ok."""
    status = rules.status
    kind = pl.col("details_kind")
    is_unlisted = pl.col("details_status").is_not_null() & kind.is_null()
    cases = [
        StatusCase(pl.col("result_synthetic"), status.aborted, status.synthetic_rule),
        StatusCase(~pl.col("has_result") & pl.col("followed"), status.aborted, status.missing_rule),
        StatusCase(~pl.col("has_result"), status.unknown, status.open_rule),
    ]
    cases += [StatusCase(hit(rule), rule.kind, rule.id, failure=True) for rule in rules.failures if rule.decides]
    for name in status.specific_first:
        cases += [StatusCase(hit(rule), name, rule.id, failure=True) for rule in rules.failures if rule.kind == name]
        cases += [
            StatusCase(pl.col(sign(rule)) == name, name, None if rule == ENVELOPE else rule, failure=True)
            for rule in evidence(rules)
        ]
    return [
        *cases,
        StatusCase(pl.col("cleared").is_not_null(), status.ok, None),
        *(StatusCase(pl.col("of_subject") == rule.id, status.ok, rule.id) for rule in rules.subjects),
        StatusCase(kind == status.unknown, status.unknown, status.details_rule),
        StatusCase(pl.col("text_kind") == status.unknown, status.unknown, status.text_rule),
        StatusCase(is_unlisted & ~pl.col("result_is_error"), status.ok, status.unlisted_rule),
        StatusCase(kind.is_not_null(), status.ok, status.details_rule),
        StatusCase(pl.col("said_status") == status.ok, status.ok, None),
        StatusCase(pl.col("said_status") == status.unknown, status.unknown, None),
        StatusCase(is_said_ok(rules), status.ok, status.ok_rule),
        StatusCase(pl.lit(True), status.unknown, status.unsaid_rule),
    ]


def case_values(values: Sequence[str | None]) -> pl.Expr:
    """The value of each case, by its number."""
    return pl.col("case").replace_strict(list(range(len(values))), values, return_dtype=pl.String)
