"""What an exception holds, past whatever its class overrides: a property of the module could do anything."""

from types import TracebackType
from typing import Any

CHAIN_MAX = 5

_fact = {
    (kind, name): kind.__dict__[name].__get__
    for kind, names in {
        BaseException: ("__traceback__", "__cause__", "__context__", "__suppress_context__"),
        OSError: ("errno", "filename"),
        ImportError: ("name",),
        SyntaxError: ("filename", "lineno"),
        BaseExceptionGroup: ("exceptions",),
    }.items()
    for name in names
}


def is_a(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether it is one in truth; `isinstance` believes a class that lies."""
    return issubclass(type(error), kind)


def traceback_of(error: BaseException) -> TracebackType | None:
    """Where it was raised."""
    traceback: TracebackType | None = _fact[BaseException, "__traceback__"](error)
    return traceback


def cause_of(error: BaseException) -> BaseException | None:
    """What it was raised from."""
    cause: BaseException | None = _fact[BaseException, "__cause__"](error)
    return cause


def context_of(error: BaseException) -> BaseException | None:
    """What was being handled when it was raised, unless the author does not want that told."""
    if _fact[BaseException, "__suppress_context__"](error):
        return None
    context: BaseException | None = _fact[BaseException, "__context__"](error)
    return context


def chain(error: BaseException) -> list[BaseException]:
    """The exception and what led to it, the oldest last."""
    found = [error]
    while len(found) < CHAIN_MAX:
        cause = cause_of(found[-1])
        before = context_of(found[-1]) if cause is None else cause
        if before is None or any(before is known for known in found):
            break
        found.append(before)
    return found


def members_of(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group; of any other, none."""
    if not is_a(error, BaseExceptionGroup):
        return ()
    members: tuple[BaseException, ...] = _fact[BaseExceptionGroup, "exceptions"](error)
    return members


def errno_of(error: BaseException) -> int | None:
    """The number that the operating system gave; None where there is none."""
    number: Any = _fact[OSError, "errno"](error) if is_a(error, OSError) else None
    return number if type(number) is int else None


def names_a_file(error: BaseException) -> bool:
    """Whether the operating system refused a path."""
    return is_a(error, OSError) and type(_fact[OSError, "filename"](error)) in {str, bytes}


def missing_package(error: BaseException) -> str | None:
    """The top-level package that an import did not find."""
    name: Any = _fact[ImportError, "name"](error) if is_a(error, ModuleNotFoundError) else None
    return name.partition(".")[0] if type(name) is str and name else None


def syntax_line(error: BaseException, file: str) -> int | None:
    """The line of this file that could not be read."""
    if not is_a(error, SyntaxError) or _fact[SyntaxError, "filename"](error) != file:
        return None
    line: Any = _fact[SyntaxError, "lineno"](error)
    return line if type(line) is int else None
