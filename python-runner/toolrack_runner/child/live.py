"""Runs a call in a process of its own: confines the process, imports one module, runs the call, answers, and ends.

If the module allows it (`reuse`), the process tidies up instead of ending, and waits for the next call.
"""

import gc
import os
import select
import socket
import sys
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import CodeType
from typing import Any, NoReturn

from toolrack_runner.child.another_process import be_another_process, seed_numpy
from toolrack_runner.child.brokered_socket import connect_by_broker, open_broker
from toolrack_runner.child.call_channel import CallChannel
from toolrack_runner.child.home import Home
from toolrack_runner.child.jail.confine import Confinement
from toolrack_runner.child.jail.workplace import Workplace
from toolrack_runner.child.level.attempts import ATTEMPTS, try_it
from toolrack_runner.child.module.attached import with_files
from toolrack_runner.child.module.call import call_tool, failure
from toolrack_runner.child.module.check import check_module
from toolrack_runner.child.module.content import CONTENT
from toolrack_runner.child.module.context import Context
from toolrack_runner.child.module.files import Source
from toolrack_runner.child.module.imports import imports_of_code
from toolrack_runner.child.module.load import (
    Code,
    LoadedModule,
    converts,
    load_known,
    load_module,
    places,
    portable_code,
)
from toolrack_runner.child.module.prepare import prepare
from toolrack_runner.child.module.raised import DISK_FULL
from toolrack_runner.child.module.source import code_object
from toolrack_runner.child.tidy import Tidy
from toolrack_runner.child.write_pages import write_pages
from toolrack_runner.wire import child_messages as messages
from toolrack_runner.wire.canaries import Canaries
from toolrack_runner.wire.child_messages import Answer, ChildMessage, SourceText
from toolrack_runner.wire.fault import Fault, ModuleError
from toolrack_runner.wire.frames import FrameError, JsonObject, encode_frame, read_frame, write_frame
from toolrack_runner.wire.parse_child_message import parse_child_message
from toolrack_runner.wire.zygote_messages import Spawn

#: The error codes of limits that the import of a module can exceed too.
LIMIT_CODES = ("MEMORY_LIMIT", "DISK_LIMIT")

REHEARSAL_SOURCE = b"""
def echo(text: str) -> str:
    return text

TOOL_SPECS = [{"name": "rehearsal:echo", "description": "Returns its text.", "handler": echo}]
"""


def _load_rehearsal() -> LoadedModule:
    """Loads the rehearsal module: first from its source, then from the compiled code."""
    code = portable_code(code_object("rehearsal.py", REHEARSAL_SOURCE.decode()))
    assert code is not None
    whole = load_module("rehearsal", REHEARSAL_SOURCE, for_one_call=True)
    module = load_known("rehearsal", REHEARSAL_SOURCE.decode(), code, places(whole))
    del sys.modules["rehearsal"]
    return module


#: The module for the rehearsal (`_rehearse`). The zygote loads it when it imports this file, so each child has it.
REHEARSAL = _load_rehearsal()

_exit = os._exit
_read = os.read
_socket = socket.socket
#: The original function, because `denied_calls.py` replaces `select.poll` for tools.
_poll = select.poll


def live(
    confinement: Confinement,
    workplace: Workplace,
    home: Home,
    spawn: Spawn,
    channel: int,
    output: int,
    kept: tuple[int, ...] = (),
) -> NoReturn:
    """Confines the forked child, runs its call, check or probe, and ends the child. No user code may run before `confine`.

    For a probe, the descriptors `kept` stay open.
    """
    try:
        packages = confinement.packages_of(workplace)
        be_another_process()
        if spawn.pages:
            write_pages(spawn.pages)
        os.dup2(output, 1)
        os.dup2(output, 2)
        confinement.confine(workplace, keep=(channel, *kept))
        home.fill()
        CONTENT.folder = os.getcwd()
        seed_numpy()
        order = messages.read_order(read_frame(channel))
        gc.enable()  # Off in the zygote, because a collection would copy pages.
        match order:
            case messages.CallOrder():
                _call(channel, order, spawn.limits.output_bytes, packages, home)
            case messages.CheckOrder():
                _check(channel, order, packages)
            case messages.ProbeOrder():
                _probe(channel, order)
    except FrameError:
        pass  # The server process closed the channel, because it no longer needs this child.
    except BaseException as error:  # noqa: BLE001 - the server process must learn of every error
        _say(channel, messages.Failed(f"{type(error).__name__}: {error}"))
    finally:
        _exit(0)


def _call(channel: int, order: messages.CallOrder, output_bytes_max: int, packages: str, home: Home) -> None:
    Context.tell = CallChannel(channel).progress
    if order.rehearse:
        _rehearse()
    if order.network:
        connect_by_broker()

    try:
        module, ready = _loaded(channel, order, packages)
    except ModuleError as refused:
        _flush()
        _say(channel, _broken(refused.fault))
    else:
        tidy = Tidy(home) if order.reuse else None
        _say(channel, ready)
        number = 0
        _answer_next(channel, order, module, number, output_bytes_max)
        while tidy is not None and _is_tidied(tidy, channel):
            _say(channel, messages.Rested(number))
            number += 1
            _answer_next(channel, order, module, number, output_bytes_max)
    _wait_for_the_end(channel)


def _is_tidied(tidy: Tidy, channel: int) -> bool:
    """Tidies up after a call. If that fails, tells the server process that no other call can follow.

    The module may have taken all descriptors, or have replaced what is needed. The answer is sent already, and stays.
    """
    try:
        tidy.up()
    except BaseException:  # noqa: BLE001 - the names may be those of the module
        end = _socket(fileno=channel)
        end.shutdown(socket.SHUT_WR)
        end.detach()
        return False
    return True


def _answer_next(
    channel: int, order: messages.CallOrder, module: LoadedModule, number: int, output_bytes_max: int
) -> None:
    """Waits for the call with this number, runs it and answers it."""
    sayer = CallChannel(channel)
    try:
        call = messages.Invocation(**read_frame(channel))
        arguments = with_files(call.arguments, call.attached, CONTENT.folder)
    except (MemoryError, OSError) as error:
        sayer.answer(_answer(_no_files(error))._replace(call=number))
        return
    Context.tell = sayer.progress
    if order.network:
        open_broker(channel, sayer.say)
    outcome = call_tool(
        *(module, call.tool, arguments, call.context),
        output_bytes_max=output_bytes_max,
        send_value=sayer.value if call.streams else None,
    )
    made = CONTENT.parts if outcome["outcome"] == "success" else ()
    sayer.answer(_answer(outcome)._replace(call=number), made)
    CONTENT.begin()


def _no_files(error: MemoryError | OSError) -> JsonObject:
    """The outcome of a call whose arguments, or whose files for them, the child has no room for."""
    if isinstance(error, MemoryError):
        sentence = "its arguments and the files for them need more memory than it may have."
        return failure("MEMORY_LIMIT", f"The tool was not called: {sentence}")
    sentence = f"the files for its arguments could not be written into its working folder ({error.strerror})."
    code = "DISK_LIMIT" if error.errno in DISK_FULL else "TOOL_CRASHED"
    return failure(code, f"The tool was not called: {sentence}")


def _rehearse() -> None:
    """Runs a call of the rehearsal module, and drops its answer.

    When a child first writes to a memory page after the fork, the page is copied. The rehearsal writes to the pages that a
    real call writes to, so the real call is faster.
    """
    outcome = call_tool(REHEARSAL, "rehearsal:echo", {"text": "x" * 1_000}, {}, output_bytes_max=1 << 20)
    encode_frame(_answer(outcome).as_json())


def _loaded(channel: int, order: messages.CallOrder, packages: str) -> tuple[LoadedModule, messages.Ready]:
    """Loads the module of a call. Returns it, with the message for the server process. Raises ModuleError.

    `packages` is the folder of its environment, or empty.
    """
    if order.known is not None:
        code = a2b_base64(order.known.code)
        _say(channel, messages.Starting())
        module = load_known(order.module, order.source, code, order.known.places, packages=packages)
        if order.known.converts and not _is_called(channel):
            prepare(module)
            _flush()
        return module, messages.Ready()

    def announce(code: Code) -> None:
        portable = portable_code(code)
        text = None if portable is None else b2a_base64(portable, newline=False).decode()
        codes = (code,) if isinstance(code, CodeType) else code.values()
        imported = imports_of_code(*(each for each in codes if isinstance(each, CodeType)))
        _say(channel, messages.Imports([name for name in imported if name != order.module], text))
        _say(channel, messages.Starting())

    source = _source(order.source, _utf8)
    module = load_module(order.module, source, for_one_call=True, announce=announce, packages=packages)
    return module, messages.Ready(places(module), converts(module))


def _is_called(channel: int) -> bool:
    """Whether the message with the call has arrived already. Then the child prepares no converters that it may not need."""
    poll = _poll()
    poll.register(channel, select.POLLIN)
    return bool(poll.poll(0))


def _source(source: SourceText, as_bytes: Callable[[str], bytes]) -> Source:
    if isinstance(source, str):
        return as_bytes(source)
    return {path: as_bytes(text) for path, text in source.items()}


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _broken(fault: Fault) -> messages.CallFailure:
    code = fault.code if fault.code in LIMIT_CODES else "MODULE_BROKEN"
    error = fault.message if fault.traceback is None else f"{fault.message}\n{fault.traceback}"
    return messages.CallFailure(code, error)


def _answer(outcome: Any) -> Answer:
    """Makes the message for an outcome of `call_tool`. A JSON result stays a text in the message."""
    if "value" in outcome:
        return messages.JsonResult(outcome["text"])
    if "text" in outcome:
        return messages.TextResult(outcome["text"])
    return messages.CallFailure(outcome["code"], outcome["error"], kind=outcome.get("kind"))


def _check(channel: int, order: messages.CheckOrder, packages: str) -> None:
    def send(stage: Mapping[str, object]) -> None:
        _say(channel, parse_child_message({"stage": stage}))

    source = _source(order.source, a2b_base64)
    check_module(order.module, source, send=send, this_machine=order.this_machine, packages=packages)
    _flush()
    _say(channel, messages.Done())
    _wait_for_the_end(channel)


def _probe(channel: int, order: messages.ProbeOrder) -> None:
    canaries = Canaries(**order.canaries | {"workdir": os.getcwd()})  # type: ignore[arg-type] # as the zygote sent them
    _say(channel, messages.Sights({name: try_it(ATTEMPTS[name], canaries) for name in order.probes}))
    _wait_for_the_end(channel)


def _say(channel: int, message: ChildMessage) -> None:
    write_frame(channel, message.as_json())


def _wait_for_the_end(channel: int) -> None:
    """Waits until the server process kills this process.

    Before that, the server process reads how much time and memory the call has used.

    While this function waits, its caller keeps the objects of the module alive. Otherwise their `__del__` would run after
    the answer.
    """
    _read(channel, 1)


def _flush() -> None:
    """Flushes stdout and stderr. The module may have replaced them, so every error is ignored."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
