"""Where the parameters that a spec states and the signature of its handler can't both be right."""

from collections.abc import Iterator

from toolrack_runner.module.handler import CONTEXT, Handler
from toolrack_runner.module.near_miss import did_you_mean, named
from toolrack_runner.module.plain import JsonObject

#: With one of these at the root the properties may stand elsewhere, so their absence proves nothing.
_ELSEWHERE = ("$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties")


def contradictions(parameters: JsonObject, handler: Handler) -> Iterator[str]:
    """Each contradiction as a sentence that names both sides."""
    stated = parameters.get("properties", {})
    listed = parameters.get("required", [])
    if not isinstance(stated, dict) or not isinstance(listed, list):
        return
    title = handler.title
    takes = f"{title} takes {named(handler.names) or 'no arguments'}"
    required = [name for name in listed if isinstance(name, str)]
    is_whole = not any(keyword in parameters for keyword in _ELSEWHERE)
    for name in [*stated, *(name for name in required if name not in stated)]:
        if name == CONTEXT and handler.takes_context:
            yield f"its parameters have '{CONTEXT}', which {title} gets from the runner. Rename one of the two."
        elif name not in handler.names and not handler.takes_any:
            yield f"its parameters have '{name[:64]}', but {takes}{did_you_mean(name, handler.names)}"
        elif name not in stated and is_whole:
            yield f"its required lists '{name[:64]}', but its properties do not{did_you_mean(name, stated)}"
    for name in handler.required if is_whole else ():
        if name not in stated:
            yield f"{title} needs '{name}', but its parameters do not have it{did_you_mean(name, stated)}"
        elif name not in required:
            yield f"{title} needs '{name}', which has no default, but its required does not list it. Add it to either."
