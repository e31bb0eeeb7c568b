"""Which word of an unknown tool's name, or of its action, says what the tool does."""

import pytest
from describe_steps import RULES, apart, call

from openclawbench.construct.describe.tool_words import ToolWords, pieces

WORDS = ToolWords(RULES)

NAMES = [
    # the verb in front decides, not a noun in its object
    ("get_order_details", "read", False),
    ("check_order_status", "inspect", False),
    ("order_food", "external_write", True),
    ("order_details", "query", False),
    ("get_schedule", "read", False),
    ("flight_schedule.get_timings", "read", False),
    ("log_food", "external_write", True),
    ("get_logs", "read", False),
    ("access_log", "inspect", False),
    ("place_order", "external_write", True),
    ("place_details", "query", False),
    ("share_price", "query", False),
    ("share_document", "external_write", True),
    # acting verbs
    ("fillFuelTank", "external_write", True),
    ("pressBrakePedal", "system_control", True),
    ("register_credit_card", "external_write", True),
    ("contact_customer_support", "communication", True),
    ("contact_details", "query", False),
    ("trading_login", "external_write", True),
    ("message_login", "external_write", True),
    ("authenticate_user", "external_write", True),
    ("cancelBooking", "external_write", True),
    ("turn_on_lights", "system_control", True),
    ("schedule_meeting", "system_control", True),
    # a verb behind its noun, in the last piece first
    ("flight_book", "external_write", True),
    ("calendar_event_delete", "external_write", True),
    ("Hotels_4_ReserveHotel", "external_write", True),
    ("Movies_3_FindMovies", "query", False),
    ("ProjectApi.update_project", "external_write", True),
    ("concert.get_details", "read", False),
    ("crm_list_records", "inspect", False),
    ("order_processing.handle_order", "external_write", True),
    # verbs of two parts
    ("find_and_replace_text", "external_write", True),
    ("get_or_create_user", "external_write", True),
    ("read_and_delete", "external_write", True),
    ("search_and_rescue_map", "query", False),
    # what is computed, what is looked up, what only tells
    ("calculate_tax", "code_execution", False),
    ("math.hypot", "code_execution", False),
    ("currency_converter", "code_execution", False),
    ("celsius_to_kelvin", "code_execution", False),
    ("weather_forecast", "query", False),
    ("population_by_state", "query", False),
    ("museum_info", "inspect", False),
    ("is_connected", "inspect", False),
    # requests on the web are no messages; media are artifacts
    ("send_get_request", "web_interaction", False),
    ("send_post_request", "web_interaction", True),
    ("generate_logo_image", "external_write", True),
    ("generate_prime", "code_execution", False),
    # a weak verb only where nothing else says more
    ("run_search", "query", False),
    ("run_pipeline_x", "code_execution", False),
    # a snapshot of an agent is a snapshot
    ("get_agent_snapshot", "read", False),
    ("list_agents", "agent_coordination", False),
    ("frobnicate", "other", False),
    ("my_core_function", "other", False),
]


@pytest.mark.parametrize(("name", "event_type", "effect"), NAMES)
def test_what_a_name_says(name: str, event_type: str, effect: bool) -> None:
    step = apart(call(name, {"x": "y"}, "done"))[0]
    assert (step["event_type"], step["side_effect"]) == (event_type, effect), step["event_rule"]


@pytest.mark.parametrize(
    ("action", "event_type", "effect"),
    [("update", "external_write", True), ("config.get", "read", False), ("list_orders", "inspect", False)],
)
def test_the_verb_of_an_action_goes_before_that_of_a_name(action: str, event_type: str, effect: bool) -> None:
    step = apart(call("order_desk", {"action": action}, "done"))[0]
    assert (step["event_type"], step["side_effect"]) == (event_type, effect)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("get_weather", [("get", "weather")]),
        ("ProjectApi.getAll", [("get", "all"), ("project", "api")]),
        ("Hotels_4_ReserveHotel", [("reserve", "hotel"), ("hotels",)]),
        ("top_5", [("top",)]),
        ("__", []),
        ("", []),
    ],
)
def test_the_pieces_of_a_name(name: str, expected: list[tuple[str, ...]]) -> None:
    assert pieces(name) == expected


def test_no_word_is_no_rule() -> None:
    assert WORDS.decide(("zap", None)) is None
    assert WORDS.decide(("", None)) is None
    assert WORDS.decide(("12", "34")) is None
