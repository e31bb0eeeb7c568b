"""Predictions of a trained adapter: the probabilities of the six symbols as the one token after the prompt (F.10)."""

from collections.abc import Iterator
from typing import Any

from openclawbench.detect.labels import LabelSet, provenance_base
from openclawbench.detect.predictions import best_label, prediction, probabilities_of
from openclawbench.detect.settings import LABELS, DetectRules
from openclawbench.detect.training.encode import Encoder
from openclawbench.detect.training.rows import TOO_LONG, RowsMade, fitted_rows
from openclawbench.records.detection.prediction import Prediction
from openclawbench.records.detection.training import AdapterProvenance

PLACES = 6  # of probabilities
NO_PACKET = "even its shortest packet is too long"
DECIDING = ("torch", "transformers", "peft", "trl")


def predict(
    model: Any, encoder: Encoder, labels: LabelSet, rules: DetectRules, max_tokens: int, rows_made: RowsMade
) -> Iterator[Prediction]:
    """A prediction for each trajectory: the most probable symbol, its probability among the six, and how probable all
    six are among all tokens. One that does not fit gets a prediction that failed. `made` counts."""
    import torch

    tokens = [encoder.label_ids[label] for label in LABELS]
    device = next(model.parameters()).device
    model.eval()
    for fitted in fitted_rows(labels, rules, encoder.measure, max_tokens, rows_made):
        ids = encoder.prompt_ids(fitted.packet)
        with torch.inference_mode():
            asked = torch.tensor([ids], device=device)
            logits = model(input_ids=asked, use_cache=False, logits_to_keep=1).logits[0, -1].float()
            six = logits[tokens]
            mass = float(torch.exp(torch.logsumexp(six, 0) - torch.logsumexp(logits, 0)))
            shares = torch.softmax(six.double(), 0).tolist()
        label, packet = best_label(shares), fitted.packet
        yield prediction(
            fitted.item.key,
            label=label,
            probabilities=probabilities_of(round(share, PLACES) for share in shares),
            probability_mass=round(min(1.0, mass), PLACES),
            answer=rules.symbol_of[label],
            finish="complete",
            trajectory_sha256=packet.trajectory_sha256,
            characters_left_out=packet.characters_left_out,
            prompt_tokens=len(ids),
            completion_tokens=1,
        )
    seen = {(row.source_model, row.trajectory_id) for row in rows_made.rows}
    for item in labels.items:
        if item.key not in seen:
            yield prediction(item.key, label=None, parse="failed", failure=NO_PACKET, finish=TOO_LONG)


def prediction_provenance(
    labels: LabelSet, rules: DetectRules, adapter: AdapterProvenance, name: str, weights: str
) -> dict[str, Any]:
    """The provenance of an adapter's predictions file, but for what follows from the file."""
    versions = {package.name: package.version for package in adapter.versions if package.name in DECIDING}
    return provenance_base(labels, rules) | {
        "detector": name,
        "kind": "adapter",
        "protocol": "symbol",
        "model": adapter.base_model,
        "weights_sha256": weights,
        "parameters": {
            "recipe": adapter.recipe,
            "recipe_sha256": adapter.recipe_sha256,
            "rows_sha256": adapter.rows_sha256,
            "base_sha256": adapter.base_sha256,
            "seed": adapter.seed,
            "max_tokens": adapter.max_tokens,
            "dtype": adapter.dtype,
            **versions,
        },
        "prompt": adapter.prompt.model_dump(),
        "trained_on": adapter.trained_on.model_dump(),
        "date": adapter.date,
    }
