"""docs/reference/taxonomy.md: the subtypes of anomalies and the candidates they absorb, from taxonomy.toml."""

from openclawbench.rules.fulltax.taxonomy import Taxonomy
from tools.site.markdown import cell, table


def taxonomy_page() -> str:
    """The whole page."""
    rules = Taxonomy.load()
    subtypes = (
        (f"`{subtype.name}`", f"`{subtype.family}`", cell(subtype.definition), cell(subtype.not_where))
        for subtype in rules.subtypes
    )
    candidates = (
        (f"`{candidate.name}`", cell(candidate.definition), ", ".join(f"`{way.subtype}`" for way in candidate.into))
        for candidate in rules.candidates
    )
    return (
        "# Taxonomy\n\nA label names one of five subtypes. Each belongs to a family. The text comes from\n"
        "`pipeline/openclawbench/rules/fulltax/taxonomy.toml`, which a release carries as `taxonomy.toml`.\n\n"
        + table(("subtype", "family", "definition", "not where"), subtypes)
        + "\nStage A may also name a candidate. Stage B1 absorbs it into a subtype or drops it:\n\n"
        + table(("candidate", "definition", "absorbed into"), candidates)
    )
