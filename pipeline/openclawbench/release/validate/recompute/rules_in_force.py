"""What was in force when a release was made, as its own files say: rules, prompts, judges; and whether these agree."""

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
from openclawbench.release.settings import PublishRules
from openclawbench.release.validate.compare import compare, read_json
from openclawbench.release.validate.findings import Findings
from openclawbench.release.writer.provenance import RULES, program_digest, rule_book, rule_folders
from openclawbench.rules.judge import JudgeRules
from openclawbench.rules.loading.rule_book import RuleBook
from openclawbench.rules.loading.rule_file import Rules, canonical_digest
from openclawbench.rules.taxonomy import Taxonomy

R = TypeVar("R", bound=Rules)
COPIES = (Taxonomy.FILE, PublishRules.FILE)  # rule files that a release holds as they were written, too

BY_A_FLAG = {PublishRules.FILE: ("jsonl",)}  # keys that a setting may decide in the place of the file as it is written


@dataclass(frozen=True)
class InForce:
    """Rules and prompts of the release in `root`. `contents`: file name -> content of every rule file."""

    root: Path
    contents: Mapping[str, Any]
    made: MadeFrom

    def rules(self, kind: type[R]) -> R:
        """The rules or the prompt of this kind. Raises InvalidRules where the release does not hold them."""
        key = kind.__name__
        if key not in self.loaded:
            self.loaded[key] = self.load(kind)
        found: R = self.loaded[key]
        return found

    @cached_property
    def loaded(self) -> dict[str, Any]:
        """By the name of their class."""
        return {}

    def load(self, kind: type[Rules]) -> Rules:
        """Read them."""
        if issubclass(kind, StagePrompt):
            versions = {one.stage: one.version for one in self.made.prompts}
            if kind.STAGE not in versions:
                raise InvalidRules(f"no prompt of stage {kind.STAGE} is named as in force")
            return kind.load(versions[kind.STAGE], self.root / "prompts")
        if issubclass(kind, RuleBook):
            return rule_book(self.contents)
        if kind.FILE not in self.contents:
            raise InvalidRules(f"{RULES} holds no {kind.FILE}")
        return checked(kind, json.dumps(self.contents[kind.FILE]))

    @cached_property
    def version(self) -> str:
        """The version of all rules together."""
        return rule_book(self.contents).version

    def judge(self) -> RulesJudge:
        """The embedded judge, with the released rules. Raises InvalidRules."""
        return embedded(*(json.dumps(self.contents.get(kind.FILE)) for kind in (JudgeRules, Taxonomy)))

    @cached_property
    def same_program(self) -> bool:
        """True where this very program, to the byte, made the release."""
        return self.made.program_sha256 == program_digest()


@lru_cache(maxsize=32)
def checked(kind: type[Rules], content: str) -> Rules:
    """Rules of a content, as JSON. Those of one content are made once: their conditions and patterns stay ready."""
    return kind.checked(json.loads(content), Path(RULES))


@lru_cache(maxsize=2)
def embedded(rules: str, taxonomy: str) -> RulesJudge:
    """The embedded judge with rules of these contents, as JSON."""
    return RulesJudge(cast("JudgeRules", checked(JudgeRules, rules)), cast("Taxonomy", checked(Taxonomy, taxonomy)))


def read_in_force(root: Path, made: MadeFrom | None, findings: Findings) -> InForce | None:
    """What was in force, compared with what the data package says of it; null where that cannot be known."""
    contents = read_json(root, RULES, "rules", findings)
    if made is None or not isinstance(contents, dict):
        return None
    if not all(isinstance(one, dict) for one in contents.values()):
        findings.add("rules", RULES, "does not hold an object for each rule file")
        return None
    found = InForce(root, contents, made)
    check_digests(found, findings)
    check_copies(found, findings)
    return found


def check_digests(found: InForce, findings: Findings) -> None:
    """Digests and versions of the rule files, as the data package names them, are those of their contents."""
    said = {one.file: one for one in found.made.rules}
    for name in sorted(said.keys() | found.contents.keys()):
        findings.checked["rule_files"] += 1
        if name not in found.contents or name not in said:
            where = RULES if name not in found.contents else "datapackage.json"
            findings.add("rules", RULES, f"{name} is not in {where}: a rule file in force stands in both")
            continue
        digest, version = canonical_digest(found.contents[name]), str(found.contents[name].get("version"))
        if said[name].sha256 != digest:
            message = f"{name} has the digest {digest[:12]}…, datapackage.json says {said[name].sha256[:12]}…"
            findings.add("rules", RULES, message)
        if said[name].version != version:
            findings.add("rules", RULES, f"{name} is of version {version}, datapackage.json says {said[name].version}")
        check_shipped(found, name, said[name].as_shipped, findings)
    if found.made.rules_version != found.version:
        message = f"all rules together are of version {found.version}, datapackage.json says {found.made.rules_version}"
        findings.add("rules", RULES, message)


def check_shipped(found: InForce, name: str, said: bool, findings: Findings) -> None:
    """Whether a rule file is the program's own, where this program made the release."""
    folder = rule_folders().get(name)
    if not found.same_program or folder is None:
        return
    shipped = tomllib.loads((folder / name).read_text(encoding="utf-8"))
    if said != (canonical_digest(shipped) == canonical_digest(found.contents[name])):
        findings.add("rules", RULES, f"{name}: datapackage.json says as_shipped {str(said).lower()}, and it is not so")


def check_copies(found: InForce, findings: Findings) -> None:
    """The rule files that a release holds as they were written say what was in force."""
    for name in COPIES:
        try:
            said = tomllib.loads((found.root / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            findings.add("rules", name, f"cannot be read: {error}")
            continue
        decided = {key: found.contents.get(name, {}).get(key) for key in BY_A_FLAG.get(name, ())}
        compare(said | decided, found.contents.get(name), name, "rules", findings)
    try:
        searched = found.rules(PrivacyRules).model_dump(mode="json")
        said = json.loads((found.root / PRIVACY).read_text(encoding="utf-8"))
    except (OSError, ValueError, InvalidRules):
        return  # named by the check of released text, and below where rules are used
    compare(said, searched, PRIVACY, "rules", findings)
