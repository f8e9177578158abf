"""The handler of a tool: its function and its arguments. A callable that cannot be a handler is refused."""

import inspect
from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from toolrack_runner.child.module.facts import class_name, type_name
from toolrack_runner.wire.fault import SpecError

CONTEXT = "context"
#: How many decorators, partials and methods are removed to find the function. A handler may wrap itself endlessly.
_LAYERS_MAX = 32
#: The kinds of parameters for which a call can give an argument by name.
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Handler:
    """A callable, and its arguments, which are given by name."""

    call: Callable[..., Any]
    title: str
    #: The arguments that a caller may give, without `context` and **kwargs.
    names: tuple[str, ...]
    #: The names that have no default.
    required: tuple[str, ...]
    takes_context: bool
    takes_any: bool


@dataclass(frozen=True, slots=True)
class DescribedHandler(Handler):
    """A handler, with what is needed to derive the definition of its tool."""

    #: The function that `call` finally calls, without partials, methods and decorators.
    function: Any
    #: The file of the function, and its first line; None if it is in no file of the module.
    file: str | None
    line: int | None
    doc: str | None
    signature: inspect.Signature
    #: A sentence about a decorator that hides the signature of the function behind (*args, **kwargs), without a full stop.
    #: None if there is no such decorator.
    hidden_by: str | None


def plain_handler(value: object) -> Handler | None:
    """The handler for a plain function, which is read from its code. None for any other callable."""
    if type(value) is not FunctionType or value.__dict__:
        return None
    code = value.__code__
    positional, named = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[: positional + named]
    optional = {
        *names[positional - len(value.__defaults__ or ()) : positional],
        *(value.__kwdefaults__ or ()),
    }
    own = tuple(name for name in names if name != CONTEXT)
    return Handler(
        call=value,
        title=_title(value),
        names=own,
        required=tuple(name for name in own if name not in optional),
        takes_context=CONTEXT in names,
        takes_any=bool(code.co_flags & inspect.CO_VARKEYWORDS),
    )


def read_handler(value: Any, files: Container[str]) -> DescribedHandler:
    """Reads a handler's signature, which may run code of the module. `files` names the module's files. Raises SpecError."""
    if isinstance(value, type):
        sentence = "the handler is a class. Give a function, or the method of an instance."
        raise SpecError("handler_is_a_class", sentence)
    if not callable(value):
        raise SpecError(
            "handler_not_callable",
            f"the handler is {type_name(value)}, which can't be called. Give the function itself, without quotes or ().",
        )
    function = _function_of(value)
    title = _title(function)
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError) as error:
        raise SpecError(
            "handler_unreadable",
            f"the signature of {title} can't be read ({str(error)[:120]}). Wrap it in a def that names its arguments.",
        ) from None
    _refuse_positional(title, signature)
    parameters = signature.parameters.values()
    named = [parameter for parameter in parameters if parameter.kind in BY_NAME]
    own = [parameter for parameter in named if parameter.name != CONTEXT]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    file, line = _place(function, files)
    return DescribedHandler(
        call=value,
        title=title,
        names=tuple(parameter.name for parameter in own),
        required=tuple(parameter.name for parameter in own if parameter.default is parameter.empty),
        takes_context=len(own) < len(named),
        takes_any=takes_any,
        function=function,
        file=file,
        line=line,
        doc=inspect.getdoc(function) if isinstance(function.__doc__, str) else None,
        signature=signature,
        hidden_by=None if named or not takes_any else _hidden_by(value, function, line),
    )


def handler_place(value: object, files: Container[str]) -> tuple[str, int] | tuple[None, None]:
    """The file and the line of a function, a decorated function or a method. No code of the module runs for this."""
    for _ in range(_LAYERS_MAX):
        if type(value) is MethodType:
            value = value.__func__
        elif type(value) is FunctionType and "__wrapped__" in value.__dict__:
            value = value.__dict__["__wrapped__"]
    return _place(value, files) if type(value) is FunctionType else (None, None)


def _refuse_positional(title: str, signature: inspect.Signature) -> None:
    first = next(iter(signature.parameters.values()), None)
    if first is None:
        return
    if first.kind is first.POSITIONAL_ONLY:
        raise SpecError(
            "handler_positional_only",
            f"{title} takes '{first.name}' by position only, but arguments come by name. "
            "Remove the / from its signature.",
        )
    if first.name in {"self", "cls"} and first.default is first.empty:
        raise SpecError(
            "handler_unbound",
            f"{title} wants '{first.name}': it is a method without its instance. Give the method of an instance.",
        )


def _function_of(value: Any) -> Any:
    """The function that a partial, a method, a callable object or a decorated function finally calls."""
    for _ in range(_LAYERS_MAX):
        if isinstance(value, partial):
            value = value.func
        elif inspect.ismethod(value):
            value = value.__func__
        elif not isinstance(value, type) and hasattr(value, "__wrapped__"):
            value = value.__wrapped__
        elif inspect.isroutine(value) or isinstance(value, type):
            break
        else:
            value = type(value).__call__
    return value


def _hidden_by(value: object, function: Any, line: int | None) -> str | None:
    where = f" (line {line})" if line else ""
    hides = "takes **kwargs and names no argument"
    named = getattr(function, "__qualname__", None)
    outer, _, inner = named.rpartition(".<locals>.") if isinstance(named, str) else ("", "", "")
    if outer:
        maker, name = outer.rpartition(".")[2][:64], inner[:64]
        cure = f"If '{maker}' is a decorator, put @functools.wraps(function) above '{name}'"
        return f"its handler is '{name}'{where}, which '{maker}' returns and which {hides}. {cure}"
    if function is type(value).__dict__.get("__call__"):
        kind = class_name(type(value))
        cure = f"If '{kind}' is a decorator, call functools.update_wrapper(self, function) in its __init__"
        return f"its handler is an instance of '{kind}', whose __call__{where} {hides}. {cure}"
    return None


def _title(function: Any) -> str:
    name = getattr(function, "__name__", None)
    return name[:64] if isinstance(name, str) else "the handler"


def _place(function: Any, files: Container[str]) -> tuple[str, int] | tuple[None, None]:
    code = getattr(function, "__code__", None)
    if inspect.iscode(code) and code.co_filename in files:
        return code.co_filename, code.co_firstlineno
    return None, None
