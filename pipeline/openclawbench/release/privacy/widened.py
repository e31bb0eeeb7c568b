"""What the rules of a release let pass and those that come with the program do not: a reader of the release is told."""

from openclawbench.release.privacy.rules import ACTIONS, PrivacyRules, Rule
from openclawbench.rules.loading.own_folder import shipped_path
from openclawbench.rules.loading.rule_file import shipped

NAMED = 8  # kinds that a sentence names


def widened(rules: PrivacyRules) -> list[str]:
    """A phrase for each way in which the rules let more pass than those of the program; empty if in none. What is found
    and left in is listed elsewhere, so a milder action is named only where the program's would have changed the text
    or stopped the release."""
    own = PrivacyRules.checked(shipped(PrivacyRules.FILE), shipped_path(PrivacyRules.FILE))
    phrases = [
        f"`on_{group} = {action}` where the program has `{own.actions[group]}`"
        for group, action in rules.actions.items()
        if ACTIONS.index(action) > ACTIONS.index(own.actions[group])
    ]
    if further := [pattern for pattern in rules.allow if pattern not in own.allow]:
        phrases.append(f"{len(further)} further patterns of texts that are never a find (`allow`)")
    present = {comparable(rule) for rule in rules.rule}
    if missing := sorted({rule.kind for rule in own.rule if comparable(rule) not in present}):
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        phrases.append(f"rules missing or changed: {', '.join(missing[:NAMED])}{more}")
    return phrases


def comparable(rule: Rule) -> str:
    """A rule as text."""
    return rule.model_dump_json()
