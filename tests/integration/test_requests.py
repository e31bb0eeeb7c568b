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
from unsent import complete_packet

from openclawbench.judge.prompts import PromptA, PromptB1, PromptB2, PromptC, StagePrompt
from openclawbench.records.packet import Evidence, Packet

pytestmark = pytest.mark.slow

CONTEXT = set(Packet.model_fields) - set(Evidence.model_fields) - {"annotation_schema_target"}
PROMPTS: dict[str, type[StagePrompt]] = {"a": PromptA, "b1": PromptB1, "b2": PromptB2, "c": PromptC}
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
        yield stage, [body for body in bodies if body["response_format"]["json_schema"]["name"] == f"stage_{stage}"]


@pytest.mark.parametrize("stage", EARLIER)
def test_what_is_sent(stage: str, sent: dict[str, list[dict[str, Any]]]) -> None:
    assert len(sent[stage]) == 3
    prompt = PROMPTS[stage].load()
    for body in sent[stage]:
        expected = {"model", "messages", "response_format", "temperature", "seed", "max_completion_tokens"}
        assert body.keys() == expected
        system, user = body["messages"]
        assert system == {"role": "system", "content": f"{prompt.shared}\n{prompt.text}"}  # what questions share first
        assert user["role"] == "user"
        assert BLOCK.sub("", user["content"]).strip() == ""
        blocks = {name: json.loads(inside) for name, _, inside in BLOCK.findall(user["content"])}
        assert list(blocks) == ["PACKET", "PREVIOUS"][: 1 + bool(EARLIER[stage])]
        packet = blocks["PACKET"]
        assert packet.keys() == {name for name in complete_packet(packet) if packet.get(name)}, (
            "says nothing of what is empty"
        )
        assert re.fullmatch("t-[0-9a-f]{12}", packet["trajectory_id"])
        assert list(blocks.get("PREVIOUS", {})) == EARLIER[stage]
        published = json.loads((ROOT / "schemas" / f"stage_{stage}.schema.json").read_text())
        for part in (published, *published.get("$defs", {}).values()):
            for field in part.get("properties", {}).values():
                field.pop("description")  # the prompt has them
        json_schema = body["response_format"]["json_schema"]
        assert json_schema["strict"] is True
        assert json_schema["schema"] == {
            name: value for name, value in published.items() if name not in ("$schema", "$id")
        }


@pytest.mark.parametrize("stage", EARLIER)
def test_the_prompt_says_what_the_blocks_hold(stage: str) -> None:
    loaded = PROMPTS[stage].load()
    match = re.search(r"`PREVIOUS`(.*?)\.\s", loaded.text, re.DOTALL)
    assert (re.findall(r"`(b?[a12]+)`", match[1]) if match else []) == EARLIER[stage]
    input_match = re.search(r"^- `oracle_outcome`.*$", loaded.shared, re.MULTILINE)
    assert input_match
    named = {
        name
        for name in CONTEXT
        if f"`{name}`" in input_match[0] or (name.startswith("risk_") and "`risk_*`" in input_match[0])
    }
    assert named == CONTEXT - {"subset"}


def test_what_a_prompt_cache_keeps_comes_first(sent: dict[str, list[dict[str, Any]]]) -> None:
    """The shared text for all, the stage's own for those of a stage, the packet for those of a trajectory."""
    shared = PromptA.load().shared
    systems = {stage: {body["messages"][0]["content"] for body in bodies} for stage, bodies in sent.items()}
    assert all(len(texts) == 1 and next(iter(texts)).startswith(shared) for texts in systems.values())
    packets: dict[str, set[str]] = {}
    for body in (entry for bodies in sent.values() for entry in bodies):
        packet = BLOCK.match(body["messages"][1]["content"])
        assert packet
        packets.setdefault(json.loads(packet[3])["trajectory_id"], set()).add(packet[0])
    assert len(packets) == 3 and all(len(member) == 1 for member in packets.values())


def test_no_name_of_a_session_or_model_and_no_digest_of_a_schema_is_sent(sent: dict[str, list[dict[str, Any]]]) -> None:
    for stage, bodies in sent.items():
        for body in bodies:
            text = json.dumps(body["messages"])
            assert not re.search(r"(one|two|three)-misbehaving|source_model|sha256", text), stage


def test_oracle_and_risk_stand_in_the_packet_and_nowhere_else(sent: dict[str, list[dict[str, Any]]]) -> None:
    for body in (entry for bodies in sent.values() for entry in bodies):
        blocks = {name: json.loads(inside) for name, _, inside in BLOCK.findall(body["messages"][1]["content"])}
        packet = blocks["PACKET"]
        elsewhere = json.dumps([packet["steps"], packet["user_turns"], blocks.get("PREVIOUS")])
        assert not re.search("oracle|risk_|slice|candidates?_step|onset_candidates", elsewhere)
        assert packet.keys() >= {"risk_bucket", "risk_score", "onset_candidates"}
