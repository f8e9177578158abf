"""Reads the annotations of a handler's arguments, and tells which of them need no conversion from JSON."""

import collections.abc
import inspect
import typing
from types import NoneType, UnionType
from typing import Any

from toolrack_runner.child.module.facts import class_name
from toolrack_runner.child.module.handler import DescribedHandler, Handler

#: The key for the annotation of `**kwargs` in the result of `annotated`. No argument can have this name.
REST = ""
_PLAIN = (str, int, float, bool, list, dict, object, Any, None, NoneType)
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_UNIONS = (typing.Union, UnionType)


def annotated(handler: Handler) -> dict[str, Any]:
    """The annotation of each argument that has one. That of `**kwargs` is under `REST`.

    May run code of the module, and raise.
    """
    hints = typing.get_type_hints(_function(handler), include_extras=True)
    found = {name: hints[name] for name in handler.names if name in hints}
    rest = _rest_name(handler)
    if rest in hints and typing.get_origin(hints[rest]) is not typing.Unpack:
        found[REST] = hints[rest]
    return found


def to_convert(handler: Handler) -> dict[str, Any]:
    """The annotations that need a conversion, by argument. May run code of the module, and raise."""
    function = _function(handler)
    if all(_is_plain(each) for each in getattr(function, "__annotations__", {}).values()):
        return {}  # This check is faster than resolving the annotations.
    return {name: hint for name, hint in annotated(handler).items() if not _is_plain(hint)}


def has_json_form(hint: Any) -> bool:
    """True if each argument that fits the annotation is the same value in JSON and in Python."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return has_json_form(arguments[0])
    if origin is typing.Literal:
        return all(type(each) in (str, int, bool, NoneType) for each in arguments)
    if origin is not None:
        return _is_json_container(origin, arguments, has_json_form)
    if isinstance(hint, typing.NewType):
        return has_json_form(hint.__supertype__)
    if isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__total__"):
        return all(has_json_form(each) for each in typing.get_type_hints(hint).values())
    return _is_plain(hint) or isinstance(hint, typing.TypeVar)


def shown(hint: Any) -> str:
    """The text of an annotation for a message, in at most 64 characters."""
    return class_name(hint) if type(hint) is type or isinstance(hint, type) else str(hint)[:64]


def _function(handler: Handler) -> Any:
    return handler.function if isinstance(handler, DescribedHandler) else handler.call


def _is_plain(hint: Any) -> bool:
    """True if pydantic would change nothing, because JSON has the value in this form and the schema has checked it."""
    if any(hint is each for each in _PLAIN):
        return True
    if isinstance(hint, str | type) and typing.get_origin(hint) is None:
        return False
    return _is_json_container(typing.get_origin(hint), typing.get_args(hint), _is_plain)


def _is_json_container(origin: Any, arguments: tuple[Any, ...], fits: Any) -> bool:
    if any(origin is each for each in _DICTS):
        return not arguments or (arguments[0] in (str, Any) and fits(arguments[1]))
    return any(origin is each for each in (*_LISTS, *_UNIONS)) and all(map(fits, arguments))


def _rest_name(handler: Handler) -> str | None:
    """The name of `**kwargs` in the signature; None if there is none."""
    if not handler.takes_any:
        return None
    if isinstance(handler, DescribedHandler):
        parameters = handler.signature.parameters.values()
        return next(each.name for each in parameters if each.kind is each.VAR_KEYWORD)
    code = handler.call.__code__
    before = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
    name: str = code.co_varnames[before]
    return name
