"""One call of one tool: from arguments to an outcome."""

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from toolrack_runner.module.bind import arguments_fault
from toolrack_runner.module.class_facts import has_method
from toolrack_runner.module.fault import ModuleFault
from toolrack_runner.module.handler import CONTEXT, Handler
from toolrack_runner.module.known import KnownModule
from toolrack_runner.module.load import LoadedModule
from toolrack_runner.module.near_miss import did_you_mean
from toolrack_runner.module.plain import JsonObject, JsonValue
from toolrack_runner.module.raised import raised
from toolrack_runner.module.result import ResultInvalid, result_of
from toolrack_runner.module.user_traceback import exception_line

Outcome = dict[str, JsonValue]
Module = LoadedModule | KnownModule


def call_tool(
    module: Module, tool: str, arguments: JsonObject, context: JsonObject, *, output_bytes_max: int
) -> Outcome:
    """Calls a handler and tells what came of it; never raises, whatever the handler does.

    The outcome is `{"outcome": "success", "text"}`, with `value` where the result was no string, or
    `{"outcome": "failure", "code", "error"}`. Everything in it is plain JSON.
    """
    try:
        handler = module.find(tool)
        if handler is None:
            return failure("TOOL_NOT_FOUND", _unknown(module, tool))
        refused = arguments_fault(handler, arguments)
        if refused:
            return failure("ARGUMENTS_INVALID", refused)
        return _called(module, tool, handler, arguments, context, output_bytes_max)
    except ModuleFault as refused:
        return failure("MODULE_BROKEN", refused.fault.message)
    except MemoryError:
        return failure(
            "MEMORY_LIMIT", f"{module.name}.py: the tool used up its memory. Work on less at a time."
        )
    except BaseException as error:  # noqa: BLE001 - somebody waits for an answer
        return failure(
            "TOOL_CRASHED",
            f"{module.name}.py: the tool left its process unable to answer ({exception_line(error)[:200]}).",
        )


def failure(code: str, error: str) -> Outcome:
    """The outcome of a call that gave no result."""
    return {"outcome": "failure", "code": code, "error": error.encode("utf-8", "replace").decode()}


def _called(
    module: Module,
    tool: str,
    handler: Handler,
    arguments: JsonObject,
    context: JsonObject,
    bytes_max: int,
) -> Outcome:
    given: dict[str, Any] = dict(arguments)
    if handler.takes_context:
        given[CONTEXT] = context
    call = handler.call
    try:
        returned = module.trusted.run(lambda: _flushed(call, given))
        if has_method(returned, "__await__"):
            returned = module.trusted.run(lambda: _flushed(_await, {"awaitable": returned}))
        result = module.trusted.keep(lambda: result_of(returned))
    except ResultInvalid as invalid:
        return failure("RESULT_INVALID", f"{handler.title}(): {invalid}.")
    except BaseException as error:  # noqa: BLE001 - a handler may raise anything
        came_up = error
        told = module.trusted.keep(lambda: raised(came_up, module.name, module.lines))
        return failure(told.code, told.text)
    size = len(result.text.encode())
    if size > bytes_max:
        # As main and the service say it; who reads it is the model that made the call.
        return failure(
            "RESULT_TOO_LARGE",
            f"The result of {tool} has {size} bytes, and {bytes_max} are allowed; ask for less.",
        )
    if result.is_json:
        return {"outcome": "success", "value": result.value, "text": result.text}
    return {"outcome": "success", "text": result.text}


def _await(awaitable: Awaitable[Any]) -> object:
    import asyncio  # Costs 70 ms where it is not there yet, and most tools need none of it.

    async def awaited() -> object:
        return await awaitable

    return asyncio.run(awaited())


def _flushed(call: Callable[..., Any], given: dict[str, Any]) -> Any:
    """What a call returns; what it printed is out by then, and the streams that the module put up are its own affair."""
    try:
        return call(**given)
    finally:
        for stream in ("stdout", "stderr"):
            try:
                getattr(sys, stream).flush()
            except BaseException:  # noqa: BLE001, S112 - a stream of the module may raise anything
                continue


def _unknown(module: Module, tool: str) -> str:
    for refused in module.faults:
        if refused.name == tool:
            return f"Unsupported tool: {tool[:128]}. Its spec is refused: {refused.faults[0].message}"
    return f"Unsupported tool: {tool[:128]}{did_you_mean(tool, module.tools)}"
