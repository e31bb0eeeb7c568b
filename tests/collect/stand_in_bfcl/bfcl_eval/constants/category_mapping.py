"""Categories and their groups."""

ALL_CATEGORIES = ["simple_python", "parallel", "multi_turn_base", "memory_kv"]
TEST_COLLECTION_MAPPING = {
    "single_turn": ["simple_python", "parallel"],
    "multi_turn": ["multi_turn_base"],
    "all": ALL_CATEGORIES,
}
