"""README.md and croissant.json of a release, as bytes, from its other files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openclawbench.release.card.card import TEMPLATE, card
from openclawbench.release.card.configs import configs
from openclawbench.release.card.croissant import CONTEXT, NAME, croissant
from openclawbench.release.card.facts import facts
from openclawbench.release.labels.labels import as_json
from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.card import statistics_part

README = "README.md"
TEXTS = (TEMPLATE, json.dumps(CONTEXT))  # the fixed texts in them


def describe_release(
    root: Path, digests: Mapping[str, str], text: list[dict[str, Any]], rules: PublishRules
) -> dict[str, bytes]:
    """Name -> content. `digests`: path -> sha256 of the files of the release in `root`; `text`: finds in released text,
    one row per kind (TextScan.table)."""
    values, loadable = facts(root) | {"text": text}, configs(root)
    return {
        README: card(root, values, loadable, rules, statistics_part(root, rules)).encode(),
        NAME: as_json(croissant(root, values, loadable, digests, rules)),
    }
