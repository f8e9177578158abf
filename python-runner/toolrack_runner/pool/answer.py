"""What main believes of a child's answer: that it is this call's result, and nothing more."""

from toolrack_runner.pool.outcome import Outcome, failure
from toolrack_runner.wire.child_messages import Answer, CallFailure, ProtocolError, TextResult
from toolrack_runner.wire.json_depth import TooDeep, read_json
from toolrack_runner.wire.json_weight import VALUES_MAX, is_too_heavy

#: Levels of a result, as the module library and docs/modules.md have it; a test compares them. The answers of the runner and
#: the service put it at most two levels deeper, and every reader of JSON on the way takes 128 or more (orjson writes 254).
RESULT_DEPTH_MAX = 100


def read_answer(answer: Answer, *, tool: str, output_bytes_max: int) -> Outcome:
    """The outcome that an answer stands for; a failure where the result is too large, too deep, or no JSON."""
    match answer:
        case CallFailure():
            return failure(answer.code, answer.error)
        case TextResult():
            text = answer.text.encode("utf-8", "replace")
            if len(text) > output_bytes_max:
                return too_large(tool, len(text), output_bytes_max)
            return Outcome(text=text.decode())
    data = answer.json.encode("utf-8", "replace")
    if len(data) > output_bytes_max:
        return too_large(tool, len(data), output_bytes_max)
    if is_too_heavy(data):
        return failure(
            "RESULT_TOO_LARGE",
            f"{tool}: the result holds more than the {VALUES_MAX:,} values it may have. "
            "Return less, or a part of it and a way to ask for the next",
        )
    try:
        read_json(data, RESULT_DEPTH_MAX)
    except TooDeep:
        return failure(
            "RESULT_INVALID",
            f"{tool}: the result is nested deeper than the {RESULT_DEPTH_MAX} levels it may have. Flatten it",
        )
    except ValueError:
        return no_result(tool, ProtocolError("the result is not JSON"))
    return Outcome(value=data)


def no_result(tool: str, broken: ProtocolError) -> Outcome:
    """The tool, or what it did to its process, sent something of its own."""
    return failure(
        "RESULT_INVALID",
        f"{tool}: what came back over the channel is not a result ({broken}). A tool answers by returning; "
        "it must not write to descriptors that it did not open",
    )


def too_large(tool: str, size: int | None, output_bytes_max: int) -> Outcome:
    """The result is above the limit of the call; the size is None where it was not read to its end."""
    told = "more" if size is None else f"{size}"
    return failure(
        "RESULT_TOO_LARGE",
        f"The result of {tool} has {told} bytes, and {output_bytes_max} are allowed; ask for less.",
    )
