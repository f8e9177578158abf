"""Reads values, classes and exceptions without running code of the uploaded module.

The module may give its classes properties and metaclasses that do anything. Nothing here calls them.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any

_CHAIN_MAX = 5

_name: Callable[[type], str] = type.__dict__["__name__"].__get__
_mro: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_attribute = {
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


def class_name(kind: type) -> str:
    """The name of a class, at most 64 characters of it."""
    return _name(kind)[:64]


def type_name(value: object) -> str:
    """The type of a value with its article: `a set`, `an int`, and `None` for None."""
    name = class_name(type(value))
    if name == "NoneType":
        return "None"
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def bases(kind: type) -> tuple[type, ...]:
    """A class and all its base classes, in the order in which Python looks names up."""
    return _mro(kind)


def has_method(value: object, name: str) -> bool:
    """True if the type of the value defines or inherits this name."""
    return any(name in _namespace(kind) for kind in bases(type(value)))


def as_text(value: object) -> str | None:
    """The characters of a string; None for anything else."""
    return str.__str__(value) if issubclass(type(value), str) else None


def as_items(value: object) -> list[tuple[object, object]] | None:
    """The keys and values of a dict; None for anything else."""
    return list(dict.items(value)) if issubclass(type(value), dict) else None  # type: ignore[arg-type]


def as_list(value: object) -> list[object] | None:
    """The elements of a list or a tuple; None for anything else."""
    if issubclass(type(value), list):
        return list(list.__iter__(value))  # type: ignore[arg-type]
    if issubclass(type(value), tuple):
        return list(tuple.__iter__(value))  # type: ignore[arg-type]
    return None


def is_a(error: BaseException, kind: type[BaseException]) -> bool:
    """As `isinstance`, but a class that overrides `__class__` cannot deceive it."""
    return issubclass(type(error), kind)


def traceback_of(error: BaseException) -> TracebackType | None:
    """The traceback of an exception."""
    traceback: TracebackType | None = _attribute[BaseException, "__traceback__"](error)
    return traceback


def cause_of(error: BaseException) -> BaseException | None:
    """The exception that this one was raised from."""
    cause: BaseException | None = _attribute[BaseException, "__cause__"](error)
    return cause


def chain(error: BaseException) -> list[BaseException]:
    """The exception and those that led to it, the oldest last; five at most."""
    found = [error]
    while len(found) < _CHAIN_MAX:
        before = cause_of(found[-1])
        if before is None and not _attribute[BaseException, "__suppress_context__"](found[-1]):
            before = _attribute[BaseException, "__context__"](found[-1])
        if before is None or any(before is known for known in found):
            break
        found.append(before)
    return found


def members_of(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group; none for any other exception."""
    if not is_a(error, BaseExceptionGroup):
        return ()
    members: tuple[BaseException, ...] = _attribute[BaseExceptionGroup, "exceptions"](error)
    return members


def errno_of(error: BaseException) -> int | None:
    """The error number of the operating system; None if there is none."""
    number: Any = _attribute[OSError, "errno"](error) if is_a(error, OSError) else None
    return number if type(number) is int else None


def names_a_file(error: BaseException) -> bool:
    """True if the operating system refused a path."""
    return is_a(error, OSError) and type(_attribute[OSError, "filename"](error)) in {str, bytes}


def missing_package(error: BaseException) -> str | None:
    """The top-level package that an import did not find."""
    name: Any = _attribute[ImportError, "name"](error) if is_a(error, ModuleNotFoundError) else None
    return name.partition(".")[0] if type(name) is str and name else None


def syntax_line(error: BaseException, file: str) -> int | None:
    """The line of this file that Python could not parse."""
    if not is_a(error, SyntaxError) or _attribute[SyntaxError, "filename"](error) != file:
        return None
    line: Any = _attribute[SyntaxError, "lineno"](error)
    return line if type(line) is int else None
