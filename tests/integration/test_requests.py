"""Requests as they are really sent: the prompt, the packet in its block, earlier answers, the schema, and no more."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import arguments, endpoint_process, fresh, rules
from child import ROOT, call
from endpoint import BLOCK
from injected import Injection, write_session

from pipeline.judge.prompts import read_prompt
from pipeline.records.packet import Evidence, Packet

pytestmark = pytest.mark.slow

CONTEXT = set(Packet.model_fields) - set(Evidence.model_fields) - {"annotation_schema_target"}
EARLIER = {"a": [], "b1": ["a"], "b2": ["b1"], "c": ["b1", "b2"]}


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Stage -> bodies of its requests."""
    return dict(asked(tmp_path_factory.mktemp("requests")))


def asked(folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A run over three sessions of which each goes through every stage."""
    for name in ("one", "two", "three"):
        write_session(folder / "raw", "misbehaving", Injection(name, {}), {})
    with endpoint_process() as endpoint:
        endpoint.script()
        ended = call(*arguments(endpoint, fresh(folder), folder / "raw", verb="annotate"), env=rules(folder))
        assert ended.status == 0, ended.err
        bodies = endpoint.log()["bodies"]
    for stage in EARLIER:
        yield stage, [one for one in bodies if one["response_format"]["json_schema"]["name"] == f"stage_{stage}"]


@pytest.mark.parametrize("stage", EARLIER)
def test_what_is_sent(stage: str, sent: dict[str, list[dict[str, Any]]]) -> None:
    assert len(sent[stage]) == 3
    prompt = read_prompt(stage).text
    for body in sent[stage]:
        expected = {"model", "messages", "response_format", "temperature", "seed", "max_completion_tokens"}
        assert body.keys() == expected
        system, user = body["messages"]
        assert system == {"role": "system", "content": prompt}  # the longest beginning that all questions share
        assert user["role"] == "user"
        blocks = {name: json.loads(inside) for name, _, inside in BLOCK.findall(user["content"])}
        assert list(blocks) == ["PACKET", "PREVIOUS"][: 1 + bool(EARLIER[stage])]
        assert list(blocks["PACKET"]) == list(Packet.model_fields)
        assert list(blocks.get("PREVIOUS", {})) == EARLIER[stage]
        schema = json.loads((ROOT / "schemas" / f"stage_{stage}.schema.json").read_text())
        given = body["response_format"]["json_schema"]
        assert given["strict"] is True
        assert given["schema"] == {name: value for name, value in schema.items() if name not in ("$schema", "$id")}


@pytest.mark.parametrize("stage", EARLIER)
def test_the_prompt_says_what_the_blocks_hold(stage: str, sent: dict[str, list[dict[str, Any]]]) -> None:
    told = re.search(r"`PREVIOUS`: one JSON object `\{(.*?)\}`", read_prompt(stage).text)
    assert (re.findall(r'"(\w+)": …', told[1]) if told else []) == EARLIER[stage]
    given = re.search(r"^ +- `oracle_outcome`.*$", read_prompt(stage).text, re.MULTILINE)
    assert given and {name for name in CONTEXT if f"`{name}`" in given[0]} == CONTEXT - {"subset"}


def test_oracle_and_risk_stand_in_the_packet_and_nowhere_else(sent: dict[str, list[dict[str, Any]]]) -> None:
    for body in (one for bodies in sent.values() for one in bodies):
        blocks = {name: json.loads(inside) for name, _, inside in BLOCK.findall(body["messages"][1]["content"])}
        packet = blocks["PACKET"]
        elsewhere = json.dumps([packet["steps"], packet["user_turns"], blocks.get("PREVIOUS")])
        assert not re.search("oracle|risk_|slice|candidates?_step|onset_candidates", elsewhere)
        assert packet.keys() >= CONTEXT
