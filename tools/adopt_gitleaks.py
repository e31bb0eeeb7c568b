"""Write pipeline/openclawbench/release/gitleaks.toml from the rules of gitleaks: `python -m tools.adopt_gitleaks FILE
VERSION`. FILE is the gitleaks.toml of a release of gitleaks, VERSION its version.

Their patterns are for Go. What Python reads differently is written for Python: flags within a pattern, classes and
ends of a text. A leading run of any name is left out, because it is in no find and slow; the end of a token may be any
character that no token has, because agents print tokens in prose, in diffs and between brackets.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

TO = Path("pipeline/openclawbench/release/gitleaks.toml")
# Of rules that privacy.toml has itself, or that are no key of a form.
LEFT_OUT = {
    "finds names and words": [
        "generic-api-key",
        "hashicorp-tf-password",
        "kubernetes-secret-yaml",
        "sourcegraph-access-token",
    ],
    "is a file": ["pkcs12-file"],
    "is public": [
        *("adobe-client-id", "asana-client-id", "bitbucket-client-id", "discord-client-id", "linkedin-client-id"),
        *("looker-client-id", "messagebird-client-id", "plaid-client-id", "flutterwave-public-key", "mailgun-pub-key"),
        *("lob-pub-api-key", "mapbox-api-token", "sendbird-access-id", "new-relic-user-api-id", "sumologic-access-id"),
        *("new-relic-browser-api-token",),
    ],
    "stands in privacy.toml": [
        *(
            "age-secret-key",
            "anthropic-admin-api-key",
            "anthropic-api-key",
            "aws-access-token",
            "azure-ad-client-secret",
        ),
        *(
            "curl-auth-header",
            "curl-auth-user",
            "databricks-api-token",
            "digitalocean-pat",
            "facebook-page-access-token",
        ),
        *("gcp-api-key", "github-app-token", "github-fine-grained-pat", "github-oauth", "github-pat"),
        *("github-refresh-token", "grafana-service-account-token", "huggingface-access-token", "jwt", "jwt-base64"),
        *("linear-api-key", "mailchimp-api-key", "mailgun-private-api-token", "microsoft-teams-webhook"),
        *("new-relic-user-api-key", "notion-api-token", "npm-access-token", "openai-api-key", "perplexity-api-key"),
        *("postman-api-token", "private-key", "pypi-upload-token", "sendgrid-api-token", "shopify-access-token"),
        *(
            "shopify-custom-access-token",
            "shopify-private-app-access-token",
            "shopify-shared-secret",
            "slack-app-token",
        ),
        *("slack-bot-token", "slack-legacy-bot-token", "slack-legacy-token", "slack-legacy-workspace-token"),
        *("slack-user-token", "square-access-token", "stripe-access-token", "telegram-bot-api-token"),
        *("1password-service-account-token", "slack-webhook-url", "atlassian-api-token", "gitlab-pat"),
        "aws-amazon-bedrock-api-key-short-lived",
        *("gitlab-deploy-token", "gitlab-feed-token", "gitlab-scim-token", "gitlab-rrt"),
        "gitlab-runner-authentication-token",
    ],
    "is found by too little": ["twilio-api-key", "vault-service-token", "facebook-access-token", "lob-api-key"],
}
LICENCE = """\
# Rules of gitleaks {version}, for the search of released text (see privacy.toml, `adopt`). Made by
# tools/adopt_gitleaks.py, not by hand: what it changes for Python, and which rules it leaves out, stands there.
#
# MIT License
#
# Copyright (c) 2019 Zachary Rice
#
# Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
# documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
# rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
# persons to whom the Software is furnished to do so, subject to the following conditions:
#
# The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
# Software.
#
# THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
# WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
# COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
# OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

source = "gitleaks {version}"
"""
ANY_NAME = r"[\w.-]{0,50}?"
ENDS = (r"""(?:[\x60'"\s;]|\\[nr]|$|\b)""", r"""(?:[\x60'"\s;]|\\[nr]|$)""", r"(?:[^\w-]|\z)", r"(?:[^a-zA-Z0-9+/]|\z)")
END = "(?![A-Za-z0-9_])"
BESIDE = r"(?:[ \t\w.-]{0,20})[\s'"  # what stands between a name and a value in their patterns


def main(path: Path, version: str) -> None:
    """Write the file."""
    rules = tomllib.loads(path.read_text(encoding="utf-8"))["rules"]
    left_out = {name for names in LEFT_OUT.values() for name in names}
    if unknown := left_out - {rule["id"] for rule in rules}:
        raise SystemExit(f"not in {path}: {', '.join(sorted(unknown))}")
    texts = [as_toml(rule) for rule in rules if rule["id"] not in left_out]
    TO.write_text("\n".join([LICENCE.format(version=version), *texts]), encoding="utf-8")
    print(f"{TO}: {len(texts)} rules of {len(rules)}")


def as_toml(rule: dict[str, Any]) -> str:
    """A rule in the form of privacy.toml."""
    pattern = one_group(for_python(rule["regex"]), rule.get("secretGroup", 1))
    assert re.compile(pattern).groups <= 1
    by_name = BESIDE in rule["regex"]
    lines = [
        "[[rule]]",
        f"kind = {json.dumps(rule['id'].replace('-', '_'))}",
        f"group = {json.dumps('suspected_key' if by_name else 'key')}",
        f"pattern = '''{pattern}'''",
        f"words = {json.dumps(rule['keywords'])}",
    ]
    if entropy := max(rule.get("entropy", 0), 3 if by_name else 0):
        lines.append(f"least_entropy = {float(entropy)}")
    lines.append("least_digits = 3" if by_name else "wrapped = true")
    allowed = [regex for entry in rule.get("allowlists", []) for regex in entry.get("regexes", [])]
    if allowed:
        quoted = [f"'''{for_python(regex)}'''" for regex in allowed]
        lines.append(f"allow = [{', '.join(quoted)}]")
    return "\n".join([*lines, ""])


def for_python(regex: str) -> str:
    """The pattern for Python's re."""
    for end in ENDS:
        regex = regex.replace(end, END)
    regex = regex.replace(ANY_NAME, "").replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z")
    return scoped_flags(ascii_classes(regex))


def one_group(regex: str, kept: int) -> str:
    """The pattern with no capturing group but this one, the secret."""
    parts, in_class, number = list[str](), False, 0
    for part in re.findall(r"\\.|\(\?|.", regex, re.DOTALL):
        if part == "[" and not in_class:
            in_class = True
        elif part == "]" and in_class:
            in_class = False
        number += part == "(" and not in_class
        parts.append("(?:" if part == "(" and not in_class and number != kept else part)
    return "".join(parts)


def ascii_classes(regex: str) -> str:
    """Classes of Go's re are of ASCII."""
    parts, in_class = [], False
    for part in re.findall(r"\\.|.", regex, re.DOTALL):
        if part == "[" and not in_class:
            in_class = True
        elif part == "]" and in_class:
            in_class = False
        short = {r"\w": "A-Za-z0-9_", r"\d": "0-9"}.get(part)
        parts.append((short if in_class else f"[{short}]") if short else part)
    return "".join(parts)


def scoped_flags(regex: str) -> str:
    """`(?i)` within a pattern holds to the end of its group, which Python writes as a group of its own; at the
    beginning of a pattern it holds for the whole pattern."""
    while (at := regex.find("(?i)", 1)) > 0:
        depth, end, in_class, place = 0, len(regex), False, at + 4
        while place < len(regex):
            letter = regex[place]
            if letter == "\\":
                place += 1
            elif in_class:
                in_class = letter != "]"
            elif letter == "[":
                in_class = True
            elif letter == "(":
                depth += 1
            elif letter == ")":
                if depth == 0:
                    end = place
                    break
                depth -= 1
            place += 1
        regex = f"{regex[:at]}(?i:{regex[at + 4 : end]}){regex[end:]}"
    return regex


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
