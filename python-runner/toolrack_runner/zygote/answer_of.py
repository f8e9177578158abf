"""What came of a call, as the message that main gets."""

from typing import Any

from toolrack_runner.wire.child_messages import Answer, CallFailure, JsonResult, TextResult


def answer_of(outcome: dict[str, Any]) -> Answer:
    """The answer for an outcome of `call_tool`; of a result that is JSON, only its text crosses."""
    if "value" in outcome:
        return JsonResult(outcome["text"])
    if "text" in outcome:
        return TextResult(outcome["text"])
    return CallFailure(outcome["code"], outcome["error"])
