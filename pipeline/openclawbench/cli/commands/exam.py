"""`openclawbench exam`: measure a judge on pairs of recorded sessions before its labels are used."""

import json
import math
import random
from datetime import date as calendar_date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from rich.console import Console

from openclawbench.base.terminal import errors, output, safe, table
from openclawbench.cli.commands.annotate import as_data, print_estimate
from openclawbench.cli.options import (
    ASKING,
    DATA,
    JUDGE,
    NO_FLAGS,
    Data,
    Date,
    Debug,
    Flags,
    IsDryRun,
    Json,
    choices,
    data_flag,
    with_settings,
)
from openclawbench.errors import NEEDS_A_PERSON, UsageError

if TYPE_CHECKING:
    from openclawbench.cli.progress import ConsoleProgress
    from openclawbench.exam.sitting import Exam, Sitting
    from openclawbench.exam.stress.variants import Variant
    from openclawbench.storage.data_folder import DataFolder

SIZES = ("quick", "full")
AT_MOST = ("false_alarms", "review")  # of these a small share is good
REQUIRABLE = ("both_right", "anomalous_right", "innocent_right", "precision", "subtype_right", *AT_MOST)
RANDOM = "random"
LARGEST_SEED = 10**6
Size = Annotated[
    str, typer.Option("--size", help="quick: 3 pairs of each class; full: 20.", autocompletion=choices(*SIZES))
]
Seed = Annotated[
    str | None,
    typer.Option("--seed", help="Number of the paper, or random; default: a paper that was begun, else random."),
]
Pairs = Annotated[
    int | None,
    typer.Option(
        "--pairs",
        min=1,
        help="Ask only so many pairs of the paper, one of each class and then a second one, for a slow endpoint. "
        "More of the same seed later asks the others only.",
    ),
]
Families = Annotated[
    Path | None, typer.Option("--families", help="A folder of your own families instead of those of the program.")
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="NAME=SHARE",
        help=f"Exit status 1 where a share is lower ({', '.join(AT_MOST)}: higher): {', '.join(REQUIRABLE)}.",
    ),
]
Stress = Annotated[
    str | None,
    typer.Option(
        "--stress",
        metavar="KIND[,KIND…]",
        help="Afterwards change one thing at a time and count the labels that flip: all, or some of "
        "oracle, risk, blind, model-name, verbosity, markdown, order, injection, truncation, translation, repeat.",
    ),
]


@with_settings(JUDGE, ASKING)
def exam(
    data: Data = DATA,
    size: Size = "quick",
    seed: Seed = None,
    pairs: Pairs = None,
    families: Families = None,
    require: Require = None,
    stress: Stress = None,
    is_dry_run: IsDryRun = False,
    date: Date = None,
    json_out: Json = False,
    debug: Debug = False,
    flags: Flags = NO_FLAGS,
) -> None:
    """Measure a judge on pairs of recorded sessions with known labels: score card, result page, certificate."""
    from openclawbench.cli.progress import ConsoleProgress
    from openclawbench.exam.sitting import sit
    from openclawbench.storage.data_folder import DataFolder

    required = requirements(require or [])
    check_date(date)
    paper = plan_exam(DataFolder(data), size, seed, families, pairs)
    variants = stress_variants(paper, stress, flags)
    if not json_out:
        errors().print(f"paper: {safe(paper.folder.name)}, {len(paper.families)} families", highlight=False)
    if is_dry_run:
        print_dry_run(paper, variants, json_out, flags)
        return
    with ConsoleProgress(quiet=json_out) as progress:
        sitting = sit(paper, flags, progress, date)
        flips = run_stress(paper, sitting, variants, flags, progress)
    missed = [sentence for name, least in required.items() if (sentence := shortfall(name, least, sitting.card))]
    if json_out:
        print(json.dumps(as_json_data(sitting, missed, flips), indent=1))
    else:
        print_sitting(output(), sitting)
        if flips is not None:
            print_flips(output(), flips, sitting)
    if missed:
        for sentence in missed:
            errors().print(sentence, style="yellow", highlight=False)
        raise typer.Exit(NEEDS_A_PERSON)
    if not json_out:
        errors().print(
            f"the release of {safe(str(data))} quotes this certificate if the same judge annotates it: "
            f"openclawbench run{data_flag(data)}",
            highlight=False,
        )


def plan_exam(
    data: "DataFolder", size: str, seed: str | None, families: Path | None, pairs: int | None = None
) -> "Exam":
    """The exam that the options name. UsageError for a size or seed that does not exist, and for more pairs than the
    paper has."""
    from openclawbench.exam.family import FAMILIES
    from openclawbench.exam.paper import Size as PaperSize
    from openclawbench.exam.paper import whole_paper
    from openclawbench.exam.sitting import Exam, unfinished_seed

    sizes: dict[str, PaperSize] = {name: name for name in get_args(PaperSize)}
    if size not in sizes:
        raise UsageError(f"--size {size}: there is no such size. Use one of: {', '.join(sizes)}.")
    if families is not None and not families.is_dir():
        raise UsageError(f"--families {families}: is not a folder. Name a folder with CLASS/NAME.toml files.")
    number: int | None
    if seed is None:
        number = unfinished_seed(data, sizes[size])
    elif seed == RANDOM:
        number = None
    elif seed.isdecimal():
        number = int(seed)
    else:
        raise UsageError(f"--seed {seed}: is not a number. Give a whole number from 0, or random.")
    if number is None:
        number = random.SystemRandom().randrange(LARGEST_SEED)
    exam = Exam(data, sizes[size], number, families or FAMILIES, pairs)
    if pairs is not None and pairs > (available := whole_paper(exam.families, exam.size)):
        raise UsageError(f"--pairs {pairs}: the paper has {available} pairs. Give at most so many, or leave it out.")
    return exam


def requirements(texts: list[str]) -> dict[str, float]:
    """Name of a share -> the share that is required."""
    required = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            share = float(value)
        except ValueError:
            share = math.nan
        if name not in REQUIRABLE or not 0 <= share <= 1:
            raise UsageError(f"--require {text}: write NAME=SHARE, a share from 0 to 1 of {', '.join(REQUIRABLE)}.")
        required[name] = share
    return required


def check_date(date: str | None) -> None:
    """Raise UsageError if the date is not valid."""
    try:
        calendar_date.fromisoformat(date or "2000-01-01")
    except ValueError as error:
        raise UsageError(f"--date {date}: is not a date. Write it as YYYY-MM-DD.") from error


def shortfall(name: str, required: float, card: dict[str, Any]) -> str | None:
    """The sentence on a requirement that is not met; None if it is met."""
    share = card[name]["share"]
    at_most = name in AT_MOST
    if share is not None and (share <= required if at_most else share >= required):
        return None
    measured = "is not known: there is nothing to count" if share is None else f"is {share:.3f}"
    return f"not met: {name} {measured}; required is {'at most' if at_most else 'at least'} {required:g}"


def stress_variants(exam: "Exam", stress: str | None, flags: Flags) -> "list[Variant]":
    """The variants that --stress names. UsageError for one that does not exist."""
    from openclawbench.exam.stress.variants import chosen_variants

    return chosen_variants(stress, exam.settings(flags)[1].model or "the rules judge") if stress else []


def run_stress(
    exam: "Exam", sitting: "Sitting", variants: "list[Variant]", flags: Flags, progress: "ConsoleProgress"
) -> dict[str, Any] | None:
    """The flips of these variants; None without variants."""
    from openclawbench.exam.stress.kit import run_kit

    return run_kit(exam, sitting, variants, flags, progress) if variants else None


def print_dry_run(exam: "Exam", variants: "list[Variant]", json_out: bool, flags: Flags) -> None:
    """Estimate what the exam would ask, and each variant of the stress kit."""
    from openclawbench.cli.progress import ConsoleProgress
    from openclawbench.exam.sitting import STOP_AFTER
    from openclawbench.exam.stress.kit import price_kit
    from openclawbench.workspace.dry_run import dry_run

    exam.prepare()
    exam_data, chosen = exam.settings(flags)
    with ConsoleProgress(quiet=json_out) as progress:
        estimate = dry_run(exam_data, chosen, STOP_AFTER, progress, 1)
        priced = price_kit(exam, variants, flags, progress)
    usd = {name: sum(stage.usd for stage in variant_estimate.stages) for name, variant_estimate in priced.items()}
    if json_out:
        print(json.dumps({"seed": exam.seed, **as_data(estimate), "stress_usd": usd}, indent=1))
        return
    print_estimate(estimate, output())
    if usd:
        total = sum(usd.values()) + sum(stage.usd for stage in estimate.stages)
        output().print(table("Stress kit", ["variant", "USD"], [[name, f"{price:.4f}"] for name, price in usd.items()]))
        output().print(f"\nexam and stress kit together: {total:.4f} USD", highlight=False)


def as_json_data(sitting: "Sitting", missed: list[str], flips: dict[str, Any] | None) -> dict[str, Any]:
    """The result for --json."""
    return {
        "folder": str(sitting.folder),
        "certificate": sitting.certificate.model_dump(),
        "score": sitting.card,
        "not_met": missed,
        "stress": flips,
    }


def print_sitting(console: Console, sitting: "Sitting") -> None:
    """The score card for people."""
    from openclawbench.exam.result_page import SHARES, remarks
    from openclawbench.reports.counting import percent

    def cells(share: dict[str, Any]) -> list[str]:
        interval = f"{percent(share['low'])} to {percent(share['high'])}" if share["share"] is not None else ""
        return [percent(share["share"]), interval, f"{share['part']} of {share['whole']}"]

    card = sitting.card
    rows = [[name.replace("_", " "), *cells(card[name]), meaning] for name, meaning in SHARES.items()]
    console.print(table("Exam", ["", "share", "95 % interval", "", "counted"], rows))
    console.print()
    by_class = [[name, *cells(share)] for name, share in card["by"]["class"].items()]
    console.print(table("Both right, by class", ["class", "share", "95 % interval", ""], by_class))
    for name, result in card["compared"].items():
        console.print(
            f"\nagainst {safe(name)} on the same {result['pairs']} pairs: right is only this judge in "
            f"{result['only_first']}, only the other in {result['only_second']}; McNemar p = {result['p_value']:.3f}",
            highlight=False,
        )
    if card["cost_usd"]:
        console.print(f"\n{card['cost_usd']:.4f} USD, {card['cost_usd_a_pair']:.4f} a pair", highlight=False)
    for sentence in remarks(sitting.certificate):
        console.print(f"\n{sentence}")
    console.print(f"\n{safe(sitting.certificate.sentence)}", highlight=False)
    console.print(f"{safe(str(sitting.folder / 'exam.md'))}", highlight=False, soft_wrap=True)


def print_flips(console: Console, flips: dict[str, Any], sitting: "Sitting") -> None:
    """The flips for people."""
    from openclawbench.reports.counting import percent

    rows = []
    for name, row in flips["variants"].items():
        shares, excess = row["flips"], row["excess"] or {"share": None, "low": None}
        interval = f"{percent(excess['low'])} to {percent(excess['high'])}" if excess["low"] is not None else ""
        beyond = [percent(excess["share"]) if row["excess"] else "", interval]
        to = [str(row[f"to_{label}"]) for label in ("anomalous", "normal", "review")]
        rows.append([name, percent(shares["share"]), f"{shares['part']} of {shares['whole']}", *beyond, *to])
    columns = ["variant", "flips", "", "beyond asking again", "95 % interval", "to anomalous", "to normal", "to review"]
    console.print()
    console.print(table("Stress kit", columns, rows))
    console.print(f"{safe(str(sitting.folder / 'stress.md'))}", highlight=False, soft_wrap=True)
