"""A class with one function, `add`, that remembers its sum."""

STATE = {}


def execute_multi_turn_func_call(calls, initial_config, involved_classes, model, task_id, long_context=False):
    state = STATE.setdefault(task_id, dict(initial_config))

    def add(a, b):
        state["sum"] = state.get("sum", 0) + a + b
        return {"sum": state["sum"]}

    results = []
    for call in calls:
        try:
            results.append(str(eval(call, {"add": add})))
        except Exception as error:  # noqa: BLE001
            results.append(f"Error during execution: {error}")
    return results, None
