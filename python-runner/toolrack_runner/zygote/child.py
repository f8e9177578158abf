"""The life of one child: confined by trusted code, it imports one module, runs one call, answers, and ends."""

import gc
import os
import sys
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from contextlib import suppress
from types import CodeType
from typing import NoReturn

from toolrack_runner.jail.confine import Confinement
from toolrack_runner.jail.workplace import Workplace
from toolrack_runner.level.canaries import Canaries
from toolrack_runner.level.probes import PROBES
from toolrack_runner.module import (
    Fault,
    ModuleError,
    call_tool,
    check_module,
    imports_of_code,
    load_known,
    load_module,
    places,
    portable_code,
)
from toolrack_runner.module.load import Module
from toolrack_runner.network.brokered_socket import connect_by_broker, open_broker
from toolrack_runner.wire.child_messages import (
    CallFailure,
    CallOrder,
    CheckOrder,
    ChildMessage,
    Done,
    Failed,
    Imports,
    Invocation,
    ProbeOrder,
    Ready,
    Sights,
    Starting,
    parse_child_message,
    read_order,
)
from toolrack_runner.wire.frames import FrameError, read_frame, write_frame
from toolrack_runner.zygote.answer_of import answer_of
from toolrack_runner.zygote.at_fork import be_another_process
from toolrack_runner.zygote.messages import Spawn
from toolrack_runner.zygote.rehearsal import load_rehearsal, rehearse

#: Limits that an import can meet as well as a call.
LIMIT_CODES = ("MEMORY_LIMIT", "DISK_LIMIT")

#: Imported by the zygote.
REHEARSAL = load_rehearsal()

_exit = os._exit
_read = os.read


def live(
    confinement: Confinement,
    workplace: Workplace,
    spawn: Spawn,
    channel: int,
    output: int,
    kept: tuple[int, ...] = (),
) -> NoReturn:
    """Runs in the forked child and never returns. `kept` stays open beside the channel, for a probe.

    The order is the jail's promise: everything up to the first `load` is ours, everything after it may be anybody's.
    """
    try:
        be_another_process()
        os.dup2(output, 1)
        os.dup2(output, 2)
        confinement.confine(workplace, keep=(channel, *kept))
        order = read_order(read_frame(channel))
        gc.enable()  # Off in the zygote, whose garbage would be everybody's.
        match order:
            case CallOrder():
                _call(channel, order, spawn.limits.output_bytes)
            case CheckOrder():
                _check(channel, order)
            case ProbeOrder():
                _probe(channel, order)
    except FrameError:
        pass  # Main let go of this child before it was needed.
    except BaseException as error:  # noqa: BLE001 - whatever it is, main must hear of it
        _say(channel, Failed(f"{type(error).__name__}: {error}"))
    finally:
        _exit(0)


def _call(channel: int, order: CallOrder, output_bytes_max: int) -> None:
    if order.rehearse:
        rehearse(REHEARSAL)
    if order.network:
        connect_by_broker()

    try:
        module, ready = _loaded(channel, order)
    except ModuleError as refused:
        _flush()
        _say(channel, _broken(refused.fault))
    else:
        _say(channel, ready)
        call = Invocation(**read_frame(channel))
        if order.network:
            open_broker(channel)
        outcome = call_tool(
            module, call.tool, call.arguments, call.context, output_bytes_max=output_bytes_max
        )
        _say(channel, answer_of(outcome))
    return _wait_for_the_end(channel)


def _loaded(channel: int, order: CallOrder) -> tuple[Module, Ready]:
    """The module, and what is told of it to the children that come after this one; raises ModuleError."""
    if order.known is not None:
        code = a2b_base64(order.known.code)
        _say(channel, Starting())
        return load_known(order.module, order.source, code, order.known.places), Ready()

    def announce(code: CodeType) -> None:
        portable = portable_code(code)
        told = None if portable is None else b2a_base64(portable, newline=False).decode()
        _say(channel, Imports(list(imports_of_code(code)), told))
        _say(channel, Starting())

    source = order.source.encode("utf-8", "replace")
    module = load_module(order.module, source, for_one_call=True, announce=announce)
    return module, Ready(places(module))


def _broken(fault: Fault) -> CallFailure:
    code = fault.code if fault.code in LIMIT_CODES else "MODULE_BROKEN"
    error = fault.message if fault.traceback is None else f"{fault.message}\n{fault.traceback}"
    return CallFailure(code, error)


def _check(channel: int, order: CheckOrder) -> None:
    def send(stage: Mapping[str, object]) -> None:
        _say(channel, parse_child_message({"stage": stage}))

    check_module(order.module, a2b_base64(order.source), send=send)
    _flush()
    _say(channel, Done())
    _wait_for_the_end(channel)


def _probe(channel: int, order: ProbeOrder) -> None:
    plants = Canaries(**order.plants | {"workdir": os.getcwd()})
    probes = {probe.name: probe for probe in PROBES}
    _say(channel, Sights({name: probes[name].try_it(plants) for name in order.probes}))
    _wait_for_the_end(channel)


def _say(channel: int, message: ChildMessage) -> None:
    write_frame(channel, message.as_json())


def _wait_for_the_end(channel: int) -> None:
    """Main reads what the call cost from the living process, and kills it."""
    _read(channel, 1)


def _flush() -> None:
    """Whatever the module put in place of the streams: its fault is not the call's."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
