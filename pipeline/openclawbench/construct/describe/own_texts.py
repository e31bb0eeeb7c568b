"""The agent's own words: its thinking, its narration and its replies, each with the language that it is in."""

from collections.abc import Sequence

import polars as pl

from openclawbench.construct.describe.language import languages
from openclawbench.records.evidence import FieldLanguage
from openclawbench.rules.language import LanguageRules
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.record import STEP_KEY


def own_texts(steps: pl.DataFrame, fields: Sequence[str], rules: LanguageRules) -> pl.DataFrame:
    """The step's key, field, text, language and coverage, field after field, in the order of the steps."""
    texts = pl.concat([field_texts(steps, name) for name in fields])
    return lookup_join(texts, languages(texts["text"], rules), ["text"])


def field_texts(steps: pl.DataFrame, name: str) -> pl.DataFrame:
    """The texts of one field. A reply's text is its own words; a call's text is not."""
    own = pl.col(name) if name != "action_text" else pl.when(action_kind="reply").then(name)
    return steps.select(*STEP_KEY, field=pl.lit(name), text=own).drop_nulls("text")


def of_steps(texts: pl.DataFrame) -> pl.DataFrame:
    """The step's key and languages, a list of FieldLanguage; a step without own words is not in it."""
    fields = pl.struct(list(FieldLanguage.model_fields))
    return texts.group_by(STEP_KEY, maintain_order=True).agg(languages=fields)
