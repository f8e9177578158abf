"""Tells whether a type has code that is neither Python's nor pydantic's: of the module, or of another package."""

import sys
import typing
from enum import EnumMeta
from types import FunctionType
from typing import Any

from toolrack_runner.child.module.facts import bases, namespace_of

_TRUSTED = frozenset(
    {*sys.stdlib_module_names, "pydantic", "pydantic_core", "annotated_types", "typing_extensions"}
)
#: Methods by which a type or its metadata tells pydantic how to read a value.
_HOOKS = ("__get_pydantic_core_schema__", "__get_validators__", "__prepare_pydantic_annotations__")
#: Attributes of an annotation that contain another annotation, for which it stands.
_STANDS_FOR = ("__supertype__", "__value__", "__bound__")


def makes_own_schema(hint: Any) -> bool:
    """True if a class or metadata in an annotation decides itself how pydantic reads a value."""
    return _makes_own_schema(hint, set())


def has_own_method(kind: type, *names: str) -> bool:
    """True if a class defines one of these methods, or inherits it from a class that is not of Python or pydantic."""
    own = [namespace_of(each) for each in bases(kind) if not _is_trusted(each)]
    return any(_is_own(namespace.get(name)) for namespace in own for name in names)


def is_plain_enum(kind: type) -> bool:
    """True if an Enum has members and no methods."""
    own = [namespace_of(each) for each in bases(kind) if not _is_trusted(each)]
    return type(kind) is EnumMeta and not any(
        _is_own(value) for namespace in own for value in namespace.values()
    )


def _makes_own_schema(hint: Any, seen: set[int]) -> bool:
    if id(hint) in seen:
        return False
    seen.add(id(hint))
    if isinstance(hint, type):
        if has_own_method(hint, *_HOOKS):
            return True
        fields = getattr(hint, "__pydantic_fields__", None)
        parts = [part for each in _values(fields) for part in (each.annotation, *each.metadata)]
    else:
        parts = [*typing.get_args(hint)]
        if _is_trusted(type(hint)):
            parts += [getattr(hint, name, None) for name in _STANDS_FOR]
    return any(_is_own_metadata(each) or _makes_own_schema(each, seen) for each in parts)


def _is_own_metadata(value: Any) -> bool:
    kind = type(value)
    if _is_trusted(kind):
        return kind.__name__ == "GetPydanticSchema"
    return has_own_method(kind, *_HOOKS)


def _is_own(value: Any) -> bool:
    """True for a method that the module has defined. An Enum also has methods of Python in its namespace."""
    if isinstance(value, classmethod | staticmethod):
        value = value.__func__
    if isinstance(value, FunctionType):
        return not _is_trusted(value)
    if isinstance(value, property):
        return any(_is_own(each) for each in (value.fget, value.fset))
    return not _is_trusted(type(value)) and any(
        "__get__" in namespace_of(each) for each in bases(type(value))
    )


def _is_trusted(value: Any) -> bool:
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in _TRUSTED


def _values(fields: Any) -> list[Any]:
    return list(fields.values()) if isinstance(fields, dict) else []
