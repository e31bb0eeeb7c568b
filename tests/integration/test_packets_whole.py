"""Packets of a whole run: what is read of them is what was digested, though their texts stand in another table."""

from conftest import Ran

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.records.packet import Packet, PacketIndex
from openclawbench.storage.data_folder import DataFolder


def test_every_packet_that_is_read_is_the_one_that_was_digested(example: Ran) -> None:
    data = DataFolder(example.data)
    parts: dict[int | str, str] = {}
    for name in data.present(Packet):
        shard, _, key = name.removesuffix(".parquet").partition("-")
        parts[int(shard)] = key
    packets = data.scan(Packet, parts).collect().to_dicts()
    assert any(packet["steps"] for packet in packets)
    for packet in packets:  # their order is that in which normalize leaves them
        assert [step["step_id"] for step in packet["steps"]] == [*range(1, packet["num_steps"] + 1)]
    digests = data.scan(PacketIndex, parts).collect()["packet_sha256"].to_list()
    assert [sha256_text(canonical_json(packet)) for packet in packets] == digests
