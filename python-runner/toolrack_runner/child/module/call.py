"""One call of one tool: from its arguments to its outcome."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from toolrack_runner.child.module.content import CONTENT
from toolrack_runner.child.module.context import context_of
from toolrack_runner.child.module.convert import ArgumentsError
from toolrack_runner.child.module.drain import (
    SendValue,
    Values,
    drain,
    drain_async,
    is_async_generator,
    is_generator,
)
from toolrack_runner.child.module.exception_kind import exception_kind
from toolrack_runner.child.module.facts import has_method
from toolrack_runner.child.module.handler import CONTEXT, Handler
from toolrack_runner.child.module.load import LoadedModule
from toolrack_runner.child.module.raised import raised
from toolrack_runner.child.module.result import result_of
from toolrack_runner.child.module.result_errors import ContentTooLargeError, ResultError, TooManyValuesError
from toolrack_runner.child.module.secrets_of_call import know_secrets, shortened
from toolrack_runner.child.module.user_traceback import exception_line
from toolrack_runner.near_miss import did_you_mean, named, near_miss
from toolrack_runner.wire.child_messages import FailureKind
from toolrack_runner.wire.fault import ModuleError
from toolrack_runner.wire.frames import JsonObject


def call_tool(
    module: LoadedModule,
    tool: str,
    arguments: JsonObject,
    context: JsonObject,
    *,
    output_bytes_max: int,
    send_value: SendValue | None = None,
) -> JsonObject:
    """Calls a handler. If it returns a generator, collects its values. Never raises, whatever the handler does.

    `send_value` gets the JSON text of each value as soon as the generator has yielded it. The outcome is `{"outcome":
    "success", "text"}`, with `value` if the result was not a string, or `{"outcome": "failure", "code", "error"}`. It is
    plain JSON. The images and files of the result are in `CONTENT`.
    """
    CONTENT.begin()
    know_secrets(context.get("secrets"))
    try:
        handler = module.find(tool)
        if handler is None:
            return failure("TOOL_NOT_FOUND", _unknown(module, tool))
        fault = arguments_fault(handler, arguments)
        if fault:
            return failure("ARGUMENTS_INVALID", fault)
        try:
            given = _converted(module, tool, handler, arguments)
        except ArgumentsError as invalid:
            return failure("ARGUMENTS_INVALID", str(invalid))
        except _TypesError as error:
            return failure(*error.args)
        if handler.takes_context:
            given[CONTEXT] = context_of(context)
        values = Values(output_bytes_max, send_value)
        return _called(module, tool, handler, given, values)
    except ModuleError as error:
        return failure("MODULE_BROKEN", error.fault.message)
    except MemoryError:
        sentence = "the tool used up its memory. Work on less at a time."
        return failure("MEMORY_LIMIT", f"{module.files.main}: {sentence}")
    except BaseException as error:  # noqa: BLE001 - the server process waits for an answer
        sentence = f"the tool left its process unable to answer ({shortened(exception_line(error), 200)})."
        return failure("TOOL_CRASHED", f"{module.files.main}: {sentence}")


def failure(code: str, error: str, kind: FailureKind | None = None) -> JsonObject:
    """The outcome of a call without a result. `kind` is that of the exception, if its class says it."""
    shown = error.encode("utf-8", "replace").decode()
    return {"outcome": "failure", "code": code, "error": shown, **({} if kind is None else {"kind": kind})}


def _failure_of(error: BaseException, module: LoadedModule) -> JsonObject:
    """The outcome of a call whose module has raised an exception."""
    code, text = raised(error, module.files)
    return failure(code, text, exception_kind(error) if code == "TOOL_RAISED" else None)


def arguments_fault(handler: Handler, arguments: Mapping[str, object]) -> str | None:
    """A sentence about arguments that are missing, or that the handler does not have. None if there are none."""
    if handler.takes_context and CONTEXT in arguments:
        return f"{handler.title}() gets '{CONTEXT}' from the runner; it is no argument. Leave it out."
    missing = [name for name in handler.required if name not in arguments]
    extra = [] if handler.takes_any else [name for name in arguments if name not in handler.names]
    if not missing and not extra:
        return None
    said: list[str] = []
    if missing:
        said.append(f"misses the required argument{'s' * (len(missing) > 1)} {named(missing)}")
    if extra:
        said.append(f"got the unexpected argument{'s' * (len(extra) > 1)} {named(extra)}")
    free = [name for name in handler.names if name not in arguments]
    near_misses = [(name, near) for name in extra[:3] if (near := near_miss(name, free))]
    meant = [f"'{near}'" if len(extra) == 1 else f"'{near}' for '{name}'" for name, near in near_misses]
    question = f" Did you mean {' and '.join(meant)}?" if meant else ""
    takes = f"It takes {named(handler.names)}." if handler.names else "It takes no arguments."
    return f"{handler.title}() {' and '.join(said)}.{question} {takes}"


class _TypesError(Exception):
    """Code of the module failed while an argument was converted. `args` has an error code and a text."""


def _converted(
    module: LoadedModule, tool: str, handler: Handler, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """A copy of the arguments, converted to the annotated types. Raises ArgumentsError, ModuleError, or _TypesError."""
    converter = module.converter(tool, handler)
    if converter is None:
        return dict(arguments)
    try:
        return module.trusted.keep(lambda: _flushed(converter.convert, {"arguments": arguments}))
    except ArgumentsError:
        raise
    except BaseException as error:  # noqa: BLE001 - a validator may raise anything
        came_up = error
    raise _TypesError(*module.trusted.keep(lambda: raised(came_up, module.files)))


def _called(
    module: LoadedModule, tool: str, handler: Handler, given: dict[str, Any], values: Values
) -> JsonObject:
    call = handler.call
    try:
        returned = module.trusted.run(lambda: _flushed(call, given))
        if has_method(returned, "__await__") or is_async_generator(returned):
            returned = module.trusted.run(lambda: _flushed(_await, {"returned": returned, "values": values}))
        if is_generator(returned):
            generator = returned
            returned = _flushed(lambda: drain(generator, values, module.trusted), {})
        if returned is values:
            result = module.trusted.keep(values.result)
        else:
            result = module.trusted.keep(lambda: result_of(returned))
    except TooManyValuesError as many:
        return failure(
            "RESULT_TOO_LARGE", f"The result of {tool} has more than the {many} it may have; ask for less."
        )
    except ContentTooLargeError as much:
        return failure("RESULT_TOO_LARGE", f"The result of {tool} has {much}; ask for less.")
    except ResultError as invalid:
        return failure("RESULT_INVALID", f"{handler.title}(): {invalid}.")
    except BaseException as error:  # noqa: BLE001 - a handler may raise anything
        came_up = error
        return module.trusted.keep(lambda: _failure_of(came_up, module))
    text: Any = result["text"]
    size = len(text.encode())
    bytes_max = values.bytes_max
    if size > bytes_max:
        # The server process and the service use the same sentence. It is for the model that has made the call.
        sentence = f"The result of {tool} has {size} bytes, and {bytes_max} are allowed; ask for less."
        return failure("RESULT_TOO_LARGE", sentence)
    return {"outcome": "success", **result}


def _await(returned: Any, values: Values) -> object:
    """Runs an awaitable or an async generator in an event loop. Returns its value or, for a generator, `values`."""
    import asyncio  # The first import of asyncio costs 70 ms, and most tools do not need it.

    async def awaited() -> object:
        value = await returned if has_method(returned, "__await__") else returned
        return await drain_async(value, values) if is_async_generator(value) else value

    return asyncio.run(awaited())


def _flushed(call: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Makes a call, and flushes stdout and stderr. Errors of them are ignored, because the module may have replaced them."""
    try:
        return call(**given)
    finally:
        for stream in ("stdout", "stderr"):
            try:
                getattr(sys, stream).flush()
            except BaseException:  # noqa: BLE001, S112 - a stream of the module may raise anything
                continue


def _unknown(module: LoadedModule, tool: str) -> str:
    for refused in module.faults:
        if refused.name == tool:
            return f"Unsupported tool: {tool[:128]}. Its spec is refused: {refused.faults[0].message}"
    return f"Unsupported tool: {tool[:128]}{did_you_mean(tool, module.tools)}"
