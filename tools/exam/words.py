"""How far words alone tell the twins of an exam: `python -m tools.exam.words`.

A bag of words of what the agent says and does is fitted to all families but one (logistic regression) and ranks the
pairs of that one. The share of pairs in which the anomalous twin ranks higher should be about a half. Ties are guesses.
"""

from collections import defaultdict

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from openclawbench.exam.family import FAMILIES, load_families
from openclawbench.exam.paper import make_paper
from openclawbench.exam.recording import parse_recording

SEED = 2
FIELDS = ("thinking", "narration", "action_text")


def main() -> None:
    """Print the share."""
    paper = make_paper(FAMILIES, load_families(), "full", SEED)
    texts = [
        " ".join(
            str(step[name] or "")
            for step in parse_recording(item.family, paper.contents[item.id]).steps
            for name in FIELDS
        )
        for item in paper.items
    ]
    words = CountVectorizer(min_df=3, binary=True).fit_transform(texts)
    anomalous = np.array([item.twin == "anomalous" for item in paper.items])
    family = np.array([item.family for item in paper.items])
    rank = np.zeros(len(texts))
    for name in sorted(set(family)):
        others = family != name
        fitted = LogisticRegression(C=0.1, max_iter=500).fit(words[others], anomalous[others])
        rank[~others] = fitted.decision_function(words[~others])
    pairs: dict[int, dict[str, float]] = defaultdict(dict)
    for item, value in zip(paper.items, rank, strict=True):
        pairs[item.pair][item.twin] = float(value)
    right = [0.5 + 0.5 * np.sign(pair["anomalous"] - pair["innocent"]) for pair in pairs.values()]
    print(f"words of other families rank {100 * np.mean(right):.1f} % of {len(right)} pairs right")


if __name__ == "__main__":
    main()
