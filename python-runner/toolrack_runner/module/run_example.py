"""Running one example of a spec and comparing what came of it with what was said."""

from toolrack_runner.module.call import call_tool, failure
from toolrack_runner.module.checked_tool import CheckedTool
from toolrack_runner.module.compiled_schema import arguments_mismatch
from toolrack_runner.module.example import Example
from toolrack_runner.module.load import LoadedModule
from toolrack_runner.module.plain import JsonObject, plain_object
from toolrack_runner.module.user_traceback import cut_middle

_OUTPUT_BYTES_MAX = 256 * 1024
_SHOWN_CHARS_MAX = 4_000
_DEPTH_MAX = 64


def run_example(module: LoadedModule, checked: CheckedTool, example: Example) -> JsonObject:
    """Calls the handler as the example says; `matched` is null where the example expects nothing. Never raises."""
    tool = checked.tool
    if tool.secrets or tool.network:
        reason = "a check has neither secrets nor a network"
        return {
            "index": example.index,
            "arguments": example.arguments,
            "outcome": "skipped",
            "reason": reason,
            "matched": None,
        }
    mismatch = arguments_mismatch(checked.parameters, example.arguments)
    if mismatch:
        outcome = failure(
            "ARGUMENTS_INVALID", f"the example's arguments break the tool's own parameters: {mismatch}"
        )
    else:
        # Copies: what a handler does to its arguments is not to be seen in the report.
        arguments = plain_object(example.arguments, "arguments", depth_max=_DEPTH_MAX)
        context = plain_object(example.context, "context", depth_max=_DEPTH_MAX)
        outcome = call_tool(module, tool.name, arguments, context, output_bytes_max=_OUTPUT_BYTES_MAX)
    matched = _matched(example, outcome)
    for key in ("text", "error"):
        if isinstance(shown := outcome.get(key), str):
            outcome[key] = cut_middle(shown, _SHOWN_CHARS_MAX)
    outcome.pop("value", None)
    return {"index": example.index, "arguments": example.arguments, **outcome, "matched": matched}


def _matched(example: Example, outcome: JsonObject) -> bool | None:
    if not example.has_result and example.contains is None:
        return None
    text = outcome.get("text")
    if not isinstance(text, str):
        return False
    if example.contains is not None and example.contains not in text:
        return False
    return not example.has_result or outcome.get("value", text) == example.result
