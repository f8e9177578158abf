"""Suggests the name that the author probably meant, if there is a NameError or an AttributeError.

Python itself gives this hint only when it prints a traceback. The text of the exception does not contain it.
"""

import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from types import FrameType, ModuleType

from toolrack_runner.child.module.facts import (
    bases,
    missing_attribute,
    namespace_of,
    traceback_of,
    undefined_name,
)
from toolrack_runner.near_miss import near_miss

#: The most names that are compared. Each comparison takes some microseconds, which count as time of the call.
_NAMES_MAX = 2_000


def meant_name(error: BaseException) -> str:
    """The end of a line for a NameError or an AttributeError, such as `. Did you mean 'float'?`. Otherwise empty."""
    try:
        return _hint(error)
    except BaseException:  # noqa: BLE001 - an object of the module may raise anything when it is read
        return ""


def _hint(error: BaseException) -> str:
    name = undefined_name(error)
    if name is not None:
        frame = _innermost(error)
        if name in sys.stdlib_module_names:
            return f". Write 'import {name}'."
        return _question(name, () if frame is None else _visible(frame))
    missing = missing_attribute(error)
    return "" if missing is None else _question(missing[0], _attributes(missing[1]))


def _question(name: str, known: Iterable[object]) -> str:
    public = (each for each in known if type(each) is str and (each[:1] != "_" or name[:1] == "_"))
    meant = near_miss(name, islice(public, _NAMES_MAX))
    return f". Did you mean '{meant}'?" if meant and meant != name else ""


def _innermost(error: BaseException) -> FrameType | None:
    traceback = traceback_of(error)
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame if traceback is not None else None


def _visible(frame: FrameType) -> Iterator[object]:
    return chain(tuple(frame.f_locals), tuple(frame.f_globals), tuple(frame.f_builtins))


def _attributes(value: object) -> Iterator[object]:
    """The names that an object and its classes have. If an object has no `__dict__`, only those of its classes."""
    if type(value) is ModuleType:
        return iter(tuple(value.__dict__))
    if issubclass(type(value), type):
        own, kinds = (), bases(value)  # type: ignore[arg-type]
    else:
        own, kinds = tuple(getattr(value, "__dict__", ())), bases(type(value))
    return chain(own, *(tuple(namespace_of(kind)) for kind in kinds))
