"""Whether a release would let more out than the one that it replaces. Such a release is not made until the option that
opens it is given with the command: a setting that somebody forgot must not publish what was held back.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openclawbench.errors import UsageError
from openclawbench.release.privacy.rules import GROUPS, PrivacyRules
from openclawbench.release.provenance import NAME, RULES
from openclawbench.rules.loading.own_folder import own_files
from openclawbench.rules.loading.rule_file import rule_path
from openclawbench.storage.data_folder import DataFolder, read_json
from openclawbench.workspace.configuration.setting_table import LANGUAGE_MODEL
from openclawbench.workspace.release_settings import rule_overrides
from openclawbench.workspace.settings import Settings

LETS_OUT = "report"  # the action that leaves a find in the text
KEY_GROUPS = ("key", "suspected_key")
ACCEPTS = "--noncommercial accept"


def refuse_more_open(data: DataFolder, settings: Settings) -> None:
    """Raise UsageError if the release of these settings lets more keys, personal data or sessions out than the one in
    the folder, or lacks the labels of a language model that it has, and the option that does so is
    not given."""
    reasons = list(more_open(data.release, settings))
    if reasons:
        raise UsageError(
            f"{data.release}: was not replaced, because the new release would be more open: {'; '.join(reasons)}. To "
            "make it all the same, give the options with the command; to make it as before, set them as they were."
        )


def more_open(former: Path, settings: Settings) -> Iterator[str]:
    """What a release of these settings lets out that the former does not, each with the option that says so."""
    rules = read_json(former / RULES)
    package = read_json(former / NAME)
    if not isinstance(rules, dict) or not isinstance(package, dict):
        return
    yield from more_privacy(rules.get(PrivacyRules.FILE), settings)
    made_from = package.get("provenance")
    if not isinstance(made_from, dict):
        return
    commands = made_from.get("commands") or []
    accepted = any(ACCEPTS in command for command in commands)
    if settings.accepts_noncommercial and not accepted and not is_option(settings, "noncommercial"):
        yield f"sessions whose licence allows no commercial use ({ACCEPTS})"
    models = [row["judge_model"] for row in made_from["judges"] if row["annotation_pass"] == 1 and is_asked(row)]
    if settings.judge != LANGUAGE_MODEL and models and not is_option(settings, "judge"):
        yield f"labels of {', '.join(models)} would be gone (--judge {settings.judge})"


def more_privacy(former: Any, settings: Settings) -> Iterator[str]:
    """Groups of finds that were blocked or redacted and would be left in; and texts that were finds and are allowed."""
    if not isinstance(former, dict):
        return
    privacy = PrivacyRules.load(overrides=rule_overrides(settings))
    for names, flag, setting in (
        (KEY_GROUPS, "--on-keys", "on_keys"),
        ([group for group in GROUPS if group not in (*KEY_GROUPS, "redacted")], "--on-personal", "on_personal"),
    ):
        opened = [
            f"{group.replace('_', ' ')} ({former.get(f'on_{group}')} before)"
            for group in names
            if privacy.actions[group] == LETS_OUT and former.get(f"on_{group}", LETS_OUT) != LETS_OUT
        ]
        if opened and not is_option(settings, setting):
            yield f"{', '.join(opened)} ({flag} {privacy.on_key if setting == 'on_keys' else LETS_OUT})"
    if PrivacyRules.FILE in own_files() and not is_option(settings, "on_keys"):
        content = privacy.model_dump()
        unsought = sorted(kinds(former) - kinds(content))
        if (allowed := sorted(allowances(content) - allowances(former))) or unsought:
            what = "; ".join([*(f"allow {pattern}" for pattern in allowed), *(f"no rule {kind}" for kind in unsought)])
            yield f"{rule_path(PrivacyRules.FILE)} finds less: {what} (--on-keys {privacy.on_key})"


def kinds(privacy: dict[str, Any]) -> set[str]:
    """Kinds of finds that rules look for."""
    return {rule["kind"] for rule in privacy.get("rule", [])}


def allowances(privacy: dict[str, Any]) -> set[str]:
    """Patterns of texts that are no find."""
    return {pattern for rules in (privacy, *privacy.get("rule", [])) for pattern in rules.get("allow") or []}


def is_asked(judge: dict[str, Any]) -> bool:
    """True for a language model, as datapackage.json names it."""
    return bool(judge["judge"] == LANGUAGE_MODEL)


def is_option(settings: Settings, name: str) -> bool:
    """True if the option was given with this command."""
    return settings.origin[name] == "flag"
