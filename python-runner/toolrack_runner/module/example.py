"""An example call that a spec gives: what goes in and, if it says so, what comes out."""

from dataclasses import dataclass

from toolrack_runner.module.limits import EXAMPLES_MAX
from toolrack_runner.module.near_miss import did_you_mean
from toolrack_runner.module.plain import JsonObject, JsonValue

KEYS = ("arguments", "context", "result", "contains")


class ExamplesRefused(Exception):
    """Examples of a shape that can't be read; its text is the sentence."""


@dataclass(frozen=True, slots=True)
class Example:
    """`result` is compared whole (only where `has_result`), `contains` is looked for in the text."""

    index: int
    arguments: JsonObject
    context: JsonObject
    result: JsonValue
    has_result: bool
    contains: str | None


def read_examples(value: JsonValue) -> tuple[Example, ...]:
    """Reads `[{arguments, context?, result? | contains?}]`; raises ExamplesRefused."""
    if not isinstance(value, list):
        raise ExamplesRefused("examples is not a list. Write [{'arguments': {…}, 'result': …}]")
    if len(value) > EXAMPLES_MAX:
        raise ExamplesRefused(
            f"there are {len(value)} examples; at most {EXAMPLES_MAX} are allowed. Keep the telling ones"
        )
    return tuple(_example(index, each) for index, each in enumerate(value))


def _example(index: int, value: JsonValue) -> Example:
    place = f"examples[{index}]"
    if not isinstance(value, dict):
        raise ExamplesRefused(f"{place} is not a dict. Write {{'arguments': {{…}}, 'result': …}}")
    for key in value:
        if key not in KEYS:
            raise ExamplesRefused(
                f"{place} has a key '{key[:64]}' that is not known{did_you_mean(key, KEYS)} It may have {', '.join(KEYS)}"
            )
    arguments, context = value.get("arguments"), value.get("context", {})
    if not isinstance(arguments, dict):
        raise ExamplesRefused(f"{place} has no 'arguments', the dict that the handler is called with")
    if not isinstance(context, dict):
        raise ExamplesRefused(f"the context of {place} is not a dict")
    contains = value.get("contains")
    if contains is not None and not isinstance(contains, str):
        raise ExamplesRefused(f"'contains' of {place} is not a string")
    return Example(index, arguments, context, value.get("result"), "result" in value, contains)
