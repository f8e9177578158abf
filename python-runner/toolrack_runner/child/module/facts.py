"""Reads values, classes and exceptions without running code of the uploaded module.

The classes of the module may have properties and metaclasses. Nothing here calls them.
"""

from collections.abc import Callable, Container
from types import TracebackType
from typing import Any

from toolrack_runner.child.module.secrets_of_call import shortened

#: How many exceptions are read of a chain, in which each exception has caused the next.
_CHAIN_MAX = 5

_name: Callable[[type], str] = type.__dict__["__name__"].__get__
_module: Callable[[type], object] = type.__dict__["__module__"].__get__
#: Returns the attributes that a class defines itself, by name.
namespace_of = type.__dict__["__dict__"].__get__
_of_exceptions = BaseException.__dict__
_suppresses_context = _of_exceptions["__suppress_context__"].__get__
_context_of = _of_exceptions["__context__"].__get__
#: Returns a class and all its base classes, in the order in which Python looks names up.
bases: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
#: Returns the traceback of an exception.
traceback_of: Callable[[BaseException], TracebackType | None] = _of_exceptions["__traceback__"].__get__
#: Returns the exception from which another exception was raised.
cause_of: Callable[[BaseException], BaseException | None] = _of_exceptions["__cause__"].__get__


def class_name(kind: type) -> str:
    """At most 64 characters of the name of a class."""
    return shortened(_name(kind), 64)


def module_name(kind: type) -> str:
    """The package that a class says it is from, without subpackages. A class of the module may say anything."""
    name = _module(kind)
    return name.partition(".")[0] if type(name) is str else ""


def type_name(value: object) -> str:
    """The type of a value with its article: `a set`, `an int`, and `None` for None."""
    name = class_name(type(value))
    if name == "NoneType":
        return "None"
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def has_method(value: object, name: str) -> bool:
    """True if the type of the value defines or inherits this name."""
    return any(name in namespace_of(kind) for kind in bases(type(value)))


def as_text(value: object) -> str | None:
    """The characters of a string; None for anything else."""
    return str.__str__(value) if issubclass(type(value), str) else None


def as_items(value: object) -> list[tuple[object, object]] | None:
    """The keys and values of a dict; None for anything else."""
    return list(dict.items(value)) if issubclass(type(value), dict) else None  # type: ignore[arg-type]


def as_list(value: object) -> list[object] | None:
    """The elements of a list or a tuple; None for anything else."""
    for kind in (list, tuple):
        if issubclass(type(value), kind):
            return list(kind.__iter__(value))  # type: ignore[arg-type]
    return None


def is_a(error: BaseException, kind: type[BaseException]) -> bool:
    """Like `isinstance`, but a class that overrides `__class__` cannot deceive it."""
    return issubclass(type(error), kind)


def _read(error: BaseException, kind: type[BaseException], name: str) -> Any:
    """An attribute that exceptions of the built-in class `kind` have. None for any other exception."""
    return kind.__dict__[name].__get__(error) if is_a(error, kind) else None


def chain(error: BaseException) -> list[BaseException]:
    """The exception and up to four that led to it, the first cause last."""
    found = [error]
    while len(found) < _CHAIN_MAX:
        before = cause_of(found[-1])
        if before is None and not _suppresses_context(found[-1]):
            before = _context_of(found[-1])
        if before is None or any(before is known for known in found):
            break
        found.append(before)
    return found


def members_of(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group; none for any other exception."""
    return _read(error, BaseExceptionGroup, "exceptions") or ()


def errno_of(error: BaseException) -> int | None:
    """The error number of the operating system; None if there is none."""
    number = _read(error, OSError, "errno")
    return number if type(number) is int else None


def names_a_file(error: BaseException) -> bool:
    """True if the exception is an OSError about a path."""
    return type(_read(error, OSError, "filename")) in {str, bytes}


def missing_name(error: BaseException) -> str | None:
    """The dotted name that an import did not find."""
    name = _read(error, ImportError, "name") if is_a(error, ModuleNotFoundError) else None
    return name if type(name) is str and name else None


def undefined_name(error: BaseException) -> str | None:
    """The name that Python did not find. None unless the exception is a NameError itself, and not of a subclass."""
    name = _read(error, NameError, "name") if type(error) is NameError else None
    return name if type(name) is str else None


def missing_attribute(error: BaseException) -> tuple[str, object] | None:
    """The missing name and the object. None unless the exception is an AttributeError itself, and not of a subclass."""
    name = _read(error, AttributeError, "name") if type(error) is AttributeError else None
    return (name, _read(error, AttributeError, "obj")) if type(name) is str else None


def own_text(error: BaseException, kind: type[BaseException]) -> str:
    """The text of an exception that Python itself has raised, of exactly this class. Empty for any other exception."""
    arguments = _read(error, BaseException, "args") if type(error) is kind else None
    first = arguments[0] if type(arguments) is tuple and arguments else None
    return first if type(first) is str else ""


def syntax_place(error: BaseException, files: Container[str]) -> tuple[str, int] | None:
    """The file and the line that Python could not parse. None if the file is not one of `files`."""
    name, line = _read(error, SyntaxError, "filename"), _read(error, SyntaxError, "lineno")
    return (name, line) if type(name) is str and name in files and type(line) is int else None
