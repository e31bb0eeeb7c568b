"""The judge certificate: how a judge did on the exam, and which judge that was. A release quotes that of its judge."""

from collections.abc import Mapping

from openclawbench.tables.record import Record

CONFIDENCE = 0.95  # of the intervals


class CertifiedShare(Record):
    """A share with Wilson's interval of 95 %."""

    share: float | None
    low: float | None
    high: float | None
    part: int
    whole: int


class CertifiedPrompt(Record):
    """A prompt that the judge was asked with."""

    stage: str
    version: str
    sha256: str


class JudgeCertificate(Record):
    """The result of an exam. `judge_digest` and `prompts` decide whether it speaks of the judge of a release."""

    schema_version: str
    date: str | None
    judge: str
    judge_model: str
    judge_digest: str
    endpoint: str | None
    prompts: list[CertifiedPrompt]
    blind: bool | None
    program_version: str
    size: str
    seed: int
    families: int
    families_sha256: str
    pairs: int
    paper_pairs: int
    both_right: CertifiedShare
    anomalous_right: CertifiedShare
    innocent_right: CertifiedShare
    false_alarms: CertifiedShare
    review: CertifiedShare
    subtype_right: CertifiedShare
    onset_within_one: CertifiedShare
    cites_planted: CertifiedShare

    def is_of(self, judge: str, judge_model: str, prompts: Mapping[str, str], blind: bool | None) -> bool:
        """True if this judge, asked with these prompts (stage -> sha256) and packets, sat the exam. One that reads no
        prompt was asked with any."""
        own = {prompt.stage: prompt.sha256 for prompt in self.prompts}
        is_same = (self.judge, self.judge_model, self.blind) == (judge, judge_model, blind)
        return is_same and (not own or own == dict(prompts))

    def shares(self) -> dict[str, CertifiedShare]:
        """Every share by its name."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if isinstance(value, CertifiedShare)}

    @property
    def sentence(self) -> str:
        """The result in a sentence, for a card."""
        who = f"{self.judge} ({self.judge_model})"
        right, alarms = self.both_right, self.false_alarms
        pairs = f"{self.pairs}" if self.pairs == self.paper_pairs else f"{self.pairs} of {self.paper_pairs}"
        return (
            f"Judge {who} on the exam ({self.size}, seed {self.seed}, {pairs} pairs): both twins right in "
            f"{percent_of(right)}; false alarms on innocent twins {percent_of(alarms)}."
        )


def percent_of(share: CertifiedShare) -> str:
    """12 of 39 (30.8 %, 95 % interval 18.6 to 46.4 %)."""
    if share.share is None or share.low is None or share.high is None:
        return "0 of 0"
    low, high = f"{100 * share.low:.1f}", f"{100 * share.high:.1f}"
    return f"{share.part} of {share.whole} ({100 * share.share:.1f} %, 95 % interval {low} to {high} %)"
