"""Whether the arguments of a call fit the handler, decided before the handler is called."""

from collections.abc import Mapping

from toolrack_runner.module.handler import CONTEXT, Handler
from toolrack_runner.module.near_miss import named, near_miss


def arguments_fault(handler: Handler, arguments: Mapping[str, object]) -> str | None:
    """What is wrong with the names of the arguments, as one sentence; None when the handler can be called with them."""
    if handler.takes_context and CONTEXT in arguments:
        return f"{handler.title}() gets '{CONTEXT}' from the runner; it is no argument. Leave it out."
    missing = [name for name in handler.required if name not in arguments]
    extra = [] if handler.takes_any else [name for name in arguments if name not in handler.names]
    if not missing and not extra:
        return None
    said: list[str] = []
    if missing:
        said.append(f"misses {_count(missing, 'required argument')} {named(missing)}")
    if extra:
        said.append(f"got {_count(extra, 'unexpected argument')} {named(extra)}")
    free = [name for name in handler.names if name not in arguments]
    meant = [(name, near) for name in extra[:3] if (near := near_miss(name, free))]
    by = [f"'{near}'" if len(extra) == 1 else f"'{near}' by '{name}'" for name, near in meant]
    hint = f"; did you mean {' and '.join(by)}?" if by else "."
    takes = f"It takes {named(handler.names)}." if handler.names else "It takes no arguments."
    return f"{handler.title}() {' and '.join(said)}{hint} {takes}"


def _count(names: list[str], noun: str) -> str:
    return f"the {noun}{'s' if len(names) > 1 else ''}"
