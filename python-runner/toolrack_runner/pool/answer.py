"""What main believes of a child's answer: that it is this call's result, and nothing more."""

from typing import Any

import orjson

from toolrack_runner.pool.outcome import Outcome, failure
from toolrack_runner.wire.json_weight import VALUES_MAX, is_too_heavy

#: Codes that a child may give its own failure; what is missing here is main's to say.
CHILD_CODES = frozenset(
    {
        "MODULE_BROKEN",
        "TOOL_NOT_FOUND",
        "ARGUMENTS_INVALID",
        "TOOL_RAISED",
        "RESULT_INVALID",
        "RESULT_TOO_LARGE",
        "MEMORY_LIMIT",
        "DISK_LIMIT",
        "TOOL_CRASHED",
    }
)
ERROR_CHARACTERS_MAX = 20_000


def read_answer(message: dict[str, Any], *, tool: str, output_bytes_max: int) -> Outcome:
    """The outcome that a message of a child stands for; RESULT_INVALID where it stands for none."""
    answer = message.get("answer")
    if not isinstance(answer, dict):
        return no_result(tool)
    code, error, text, value = (answer.get(name) for name in ("code", "error", "text", "json"))
    if isinstance(code, str) and code in CHILD_CODES and isinstance(error, str):
        return failure(code, error[:ERROR_CHARACTERS_MAX])
    result = value if isinstance(value, str) else text
    if not isinstance(result, str):
        return no_result(tool)
    data = result.encode("utf-8", "replace")
    if len(data) > output_bytes_max:
        return too_large(tool, output_bytes_max)
    if result is text:
        return Outcome(text=data.decode())
    if is_too_heavy(data):
        return failure(
            "RESULT_TOO_LARGE",
            f"{tool}: the result holds more than the {VALUES_MAX:,} values it may have. "
            "Return less, or a part of it and a way to ask for the next",
        )
    return Outcome(value=data) if _is_json(data) else no_result(tool)


def no_result(tool: str) -> Outcome:
    """The tool, or what it did to its process, sent something of its own."""
    return failure(
        "RESULT_INVALID",
        f"{tool}: what came back over the channel is not a result. A tool answers by returning; "
        "it must not write to descriptors that it did not open",
    )


def too_large(tool: str, output_bytes_max: int) -> Outcome:
    """The result is above the limit of the call."""
    return failure(
        "RESULT_TOO_LARGE",
        f"{tool}: the result is larger than the {output_bytes_max} bytes it may have. "
        "Return less, or a part of it and a way to ask for the next",
    )


def _is_json(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except ValueError:
        return False
    return True
