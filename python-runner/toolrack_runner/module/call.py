"""One call of one tool: from its arguments to its outcome."""

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolrack_runner.module.facts import has_method
from toolrack_runner.module.fault import ModuleError
from toolrack_runner.module.handler import CONTEXT, Handler
from toolrack_runner.module.load import LoadedModule
from toolrack_runner.module.near_miss import did_you_mean, named, near_miss
from toolrack_runner.module.raised import raised
from toolrack_runner.module.result import ResultError, result_of
from toolrack_runner.module.user_traceback import exception_line
from toolrack_runner.wire.frames import JsonObject


def call_tool(
    module: LoadedModule, tool: str, arguments: JsonObject, context: JsonObject, *, output_bytes_max: int
) -> JsonObject:
    """Calls a handler. Never raises, whatever the handler does.

    The outcome is `{"outcome": "success", "text"}`, with `value` if the result was not a string, or
    `{"outcome": "failure", "code", "error"}`. It is plain JSON.
    """
    try:
        handler = module.find(tool)
        if handler is None:
            return failure("TOOL_NOT_FOUND", _unknown(module, tool))
        fault = arguments_fault(handler, arguments)
        if fault:
            return failure("ARGUMENTS_INVALID", fault)
        given = {**arguments, CONTEXT: context} if handler.takes_context else dict(arguments)
        return _called(module, tool, handler, given, output_bytes_max)
    except ModuleError as error:
        return failure("MODULE_BROKEN", error.fault.message)
    except MemoryError:
        sentence = "the tool used up its memory. Work on less at a time."
        return failure("MEMORY_LIMIT", f"{module.files.main}: {sentence}")
    except BaseException as error:  # noqa: BLE001 - main waits for an answer
        sentence = f"the tool left its process unable to answer ({exception_line(error)[:200]})."
        return failure("TOOL_CRASHED", f"{module.files.main}: {sentence}")


def failure(code: str, error: str) -> JsonObject:
    """The outcome of a call without a result."""
    return {"outcome": "failure", "code": code, "error": error.encode("utf-8", "replace").decode()}


def arguments_fault(handler: Handler, arguments: Mapping[str, object]) -> str | None:
    """A sentence about names of arguments that are missing or unexpected; None if the handler takes them."""
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


def _called(
    module: LoadedModule, tool: str, handler: Handler, given: dict[str, Any], bytes_max: int
) -> JsonObject:
    call = handler.call
    try:
        returned = module.trusted.run(lambda: _flushed(call, given))
        if has_method(returned, "__await__"):
            returned = module.trusted.run(lambda: _flushed(_await, {"awaitable": returned}))
        result = module.trusted.keep(lambda: result_of(returned))
    except ResultError as invalid:
        return failure("RESULT_INVALID", f"{handler.title}(): {invalid}.")
    except BaseException as error:  # noqa: BLE001 - a handler may raise anything
        came_up = error
        return failure(*module.trusted.keep(lambda: raised(came_up, module.files)))
    text: Any = result["text"]
    size = len(text.encode())
    if size > bytes_max:
        # Main and the service use the same sentence. It is written for the model that made the call.
        sentence = f"The result of {tool} has {size} bytes, and {bytes_max} are allowed; ask for less."
        return failure("RESULT_TOO_LARGE", sentence)
    return {"outcome": "success", **result}


def _await(awaitable: Awaitable[Any]) -> object:
    import asyncio  # The first import of asyncio costs 70 ms, and most tools do not need it.

    async def awaited() -> object:
        return await awaitable

    return asyncio.run(awaited())


def _flushed(call: Callable[..., Any], given: dict[str, Any]) -> Any:
    """The result of a call. Then flushes the streams. The module may have replaced them, so their errors are ignored."""
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
