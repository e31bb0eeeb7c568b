"""What a detector reads of one trajectory (paper F.10)."""

from openclawbench.tables.record import Keyed


class DetectorPacket(Keyed):
    """A detector's whole input of one trajectory: user turns and step blocks (paper F.10), shortened where it is too
    long. It has no outcome, risk, slice, onset candidate, descriptor or word of a judge. The key is not in its text."""

    num_steps: int
    text: str
    blocks: int
    blocks_left_out: int
    texts_shortened: int
    characters: int
    characters_left_out: int
    estimated_tokens: int
    trajectory_sha256: str
    packet_sha256: str
