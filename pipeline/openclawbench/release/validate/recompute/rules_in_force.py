"""The rules, prompts and judges in force when a release was made, from its own files; and whether these agree."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from openclawbench.errors import InvalidRules
from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.judge.prompts import StagePrompt
from openclawbench.records.datapackage import MadeFrom
from openclawbench.release.privacy.policy import RULES_FILE as PRIVACY
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.provenance import RULES, program_digest, released_rule_names, rule_book
from openclawbench.release.settings import PublishRules
from openclawbench.release.validate.compare import compare, read_json
from openclawbench.release.validate.findings import Findings
from openclawbench.rules.fulltax.judge import JudgeRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.rules.loading.rule_book import RuleBook
from openclawbench.rules.loading.rule_file import Rules, canonical_digest, shipped

R = TypeVar("R", bound=Rules)
COPIES = (Taxonomy.FILE, PublishRules.FILE)  # rule files that a release also holds as TOML

BY_A_FLAG = {PublishRules.FILE: ("jsonl",)}  # keys that a command-line option may override


@dataclass(frozen=True)
class RulesInForce:
    """Rules and prompts of the release in `root`. `contents`: file name -> content of every rule file."""

    root: Path
    contents: Mapping[str, Any]
    provenance: MadeFrom

    def rules(self, kind: type[R]) -> R:
        """The rules or the prompt of this class. Raises InvalidRules if the release does not have them."""
        key = kind.__name__
        if key not in self.loaded:
            self.loaded[key] = self.load(kind)
        rules: R = self.loaded[key]
        return rules

    @cached_property
    def loaded(self) -> dict[str, Any]:
        """Loaded rules, by the name of their class."""
        return {}

    def load(self, kind: type[Rules]) -> Rules:
        """Read the rules or the prompt of this class."""
        if issubclass(kind, StagePrompt):
            versions = {prompt.stage: prompt.version for prompt in self.provenance.prompts}
            if kind.STAGE not in versions:
                raise InvalidRules(f"no prompt of stage {kind.STAGE} is named as in force")
            return kind.load(versions[kind.STAGE], self.root / "prompts")
        if issubclass(kind, RuleBook):
            return rule_book(self.contents)
        if kind.FILE not in self.contents:
            raise InvalidRules(f"{RULES} does not contain {kind.FILE}")
        return check_rules(kind, json.dumps(self.contents[kind.FILE]))

    @cached_property
    def version(self) -> str:
        """The version of all rules together."""
        return rule_book(self.contents).version

    def judge(self) -> RulesJudge:
        """The embedded judge, with the released rules. Raises InvalidRules."""
        return make_embedded_judge(*(json.dumps(self.contents.get(kind.FILE)) for kind in (JudgeRules, Taxonomy)))

    @cached_property
    def same_program(self) -> bool:
        """True if exactly this program made the release."""
        return self.provenance.program_sha256 == program_digest()


@lru_cache(maxsize=32)
def check_rules(kind: type[Rules], content: str) -> Rules:
    """Rules from JSON text, cached: their conditions and patterns take time to compile."""
    return kind.checked(json.loads(content), Path(RULES))


@lru_cache(maxsize=2)
def make_embedded_judge(rules: str, taxonomy: str) -> RulesJudge:
    """The embedded judge with the rules in these JSON texts, cached."""
    return RulesJudge(
        cast("JudgeRules", check_rules(JudgeRules, rules)), cast("Taxonomy", check_rules(Taxonomy, taxonomy))
    )


def read_in_force(root: Path, provenance: MadeFrom | None, findings: Findings) -> RulesInForce | None:
    """The rules in force, compared with the data package; None if either cannot be read."""
    contents = read_json(root, RULES, "rules", findings)
    if provenance is None or not isinstance(contents, dict):
        return None
    if not all(isinstance(content, dict) for content in contents.values()):
        findings.add("rules", RULES, "does not hold an object for each rule file")
        return None
    in_force = RulesInForce(root, contents, provenance)
    check_digests(in_force, findings)
    check_copies(in_force, findings)
    return in_force


def check_digests(in_force: RulesInForce, findings: Findings) -> None:
    """The data package has the digests and versions of the rule files."""
    named = {rule_file.file: rule_file for rule_file in in_force.provenance.rules}
    for name in sorted(named.keys() | in_force.contents.keys()):
        findings.checked["rule_files"] += 1
        if name not in in_force.contents or name not in named:
            where = RULES if name not in in_force.contents else "datapackage.json"
            findings.add("rules", RULES, f"{name} is not in {where}: a rule file must be in both")
            continue
        digest, version = canonical_digest(in_force.contents[name]), str(in_force.contents[name].get("version"))
        if named[name].sha256 != digest:
            message = f"{name} has the digest {digest[:12]}…; datapackage.json has {named[name].sha256[:12]}…"
            findings.add("rules", RULES, message)
        if named[name].version != version:
            findings.add("rules", RULES, f"{name} is of version {version}; datapackage.json has {named[name].version}")
        check_shipped(in_force, name, named[name].as_shipped, findings)
    if in_force.provenance.rules_version != in_force.version:
        message = f"rules_version is {in_force.provenance.rules_version}; the rules give {in_force.version}"
        findings.add("rules", RULES, message)


def check_shipped(in_force: RulesInForce, name: str, as_shipped: bool, findings: Findings) -> None:
    """as_shipped is right, which can be checked if this program made the release."""
    if not in_force.same_program or name not in released_rule_names():
        return
    if as_shipped != (canonical_digest(shipped(name)) == canonical_digest(in_force.contents[name])):
        findings.add(
            "rules", RULES, f"{name}: as_shipped is {str(as_shipped).lower()} in datapackage.json, which is wrong"
        )


def check_copies(in_force: RulesInForce, findings: Findings) -> None:
    """The rule files that a release also holds as TOML or JSON have the same content."""
    for name in COPIES:
        try:
            copy = tomllib.loads((in_force.root / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            findings.add("rules", name, f"cannot be read: {error}")
            continue
        overridden = {key: in_force.contents.get(name, {}).get(key) for key in BY_A_FLAG.get(name, ())}
        compare(copy | overridden, in_force.contents.get(name), name, "rules", findings)
    try:
        privacy_rules = in_force.rules(PrivacyRules).model_dump(mode="json")
        copy = json.loads((in_force.root / PRIVACY).read_text(encoding="utf-8"))
    except (OSError, ValueError, InvalidRules):
        return  # other checks report it
    compare(copy, privacy_rules, PRIVACY, "rules", findings)
