"""Personal data by the libraries of the extra `privacy`, and by patterns: national forms are found, numbers are not."""

import json
from typing import Any

import polars as pl
import pytest

from openclawbench.release.privacy import checks
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.widened import widened
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.release_settings import describe_finds, rule_overrides
from openclawbench.workspace.settings import settings

RULES = PrivacyRules.load()
PRIVACY_FINDER = PrivacyFinder(RULES)
FORMS = {
    "email": ["jörg@müller.de", "x@firma.xn--p1ai", "jane@[192.0.2.7]", "zoë.k@straße.com", "a@b.photography"],
    "national_phone": [
        *("415 867 5309", "1-415-867-5309", "(11) 98765-4321", "079 123 45 67", "030 12345678", "0612345678"),
        *("06 12 34 56 78", "020 7946 0018", "98765 43210"),
    ],
    "bank_account": ["nl91abna0417164300", "nl91 abna 0417 1643 00", "NL91ABNA0417164300"],
    "payment_card": ["6759649826438453", "3530111333300000"],
    "social_security_number": ["SSN: 078051121", "passport no. C01X00T47"],
    "national_id": ["1 84 12 76 451 089 46", "Steuer-ID 36 574 261 809", "Aadhaar 2341 2341 2346"],
    "home_folder": [
        *("/home/jürgen/x", "/var/home/janedoe/x", "/export/home/janedoe/", "/mnt/c/Users/janedoe/x"),
        *("C:\\Users\\Jane Doe\\x", "C:/Users/Ana Maria Silva/x", f"/home/{'a' * 40}/x"),
    ],
}
ORDINARY = [
    *(
        "1 234 567 890",
        "192 168 100 200",
        "12 34 56 78 90",
        "8080 9090 10000",
        "1700000000 1234",
        "2026-11-28 12:30:45",
    ),
    *("0123", "007 bond", "port 5432 6379", "640 480 600", "@types/node@20", "icon@2x.png", "user@host", "en01 abcd"),
    *("00000000-0000-0000-0000-000000000000", "0.0612345678", "rows 0612 of 12000", "C:\\Users\\Public\\x"),
    *("build 0411223", "v1.2.3-0612345678", "deadbeef0612345678", "(3) 12345", "512 345 678", "de12 main 1234"),
]


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in FORMS.items() for text in texts])
def test_a_form_is_found_also_by_the_quick_look(kind: str, text: str) -> None:
    for line in (text, f"see {text} there"):
        hits = PRIVACY_FINDER.hits(line)
        assert kind in [hit.kind for hit in hits], hits
        looks = PRIVACY_FINDER.worth_a_look(pl.Series([json.dumps({"text": line}, ensure_ascii=False)]))
        assert PRIVACY_FINDER.hits(line, dict(PRIVACY_FINDER.suspects([0], [line], looks)).get(0, [])) == hits


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_number_is_nobodys(text: str) -> None:
    assert PRIVACY_FINDER.hits(text) == []


def test_what_was_not_searched_for_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Without the extra: in the rules of the release, on its card, and when `release` ends."""
    data = DataFolder(tmp_path)
    assert describe_finds(data) == []
    monkeypatch.setattr("openclawbench.workspace.release_settings.missing_libraries", lambda: ("phonenumbers",))
    (sentence,) = describe_finds(data)
    assert "phonenumbers is not installed" in sentence
    overrides = rule_overrides(settings(data))
    rules = PrivacyRules.load(overrides=overrides)
    assert rules.without == ["phonenumbers"]
    kinds = {rule.kind for rule in rules.rule}
    assert "national_phone" not in kinds and "national_id" in kinds
    assert rules.digest != RULES.digest
    assert any("national_phone" in phrase for phrase in widened(rules))


def test_a_check_without_its_library_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "missing_libraries", lambda: ("phonenumbers", "stdnum"))
    assert not checks.fits_phone("415 867 5309")
    assert not checks.fits_national_id("1 84 12 76 451 089 46")
