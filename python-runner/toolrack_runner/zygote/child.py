"""The life of one child: confined by trusted code, it imports one module, runs one call, answers, and ends."""

import gc
import os
import sys
from binascii import a2b_base64, b2a_base64
from contextlib import suppress
from types import CodeType
from typing import Any, NoReturn

from toolrack_runner.jail.confine import Confinement, Workplace
from toolrack_runner.level.plants import Plants
from toolrack_runner.level.twins import TWINS
from toolrack_runner.module import (
    Fault,
    ModuleFault,
    call_tool,
    check_module,
    imports_of_code,
    load_known,
    load_module,
    places,
    portable_code,
)
from toolrack_runner.module.call import Module, Outcome
from toolrack_runner.network.brokered_socket import connect_by_broker
from toolrack_runner.wire.frames import FrameError, read_frame, write_frame
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
        order = read_frame(channel)
        gc.enable()  # Off in the zygote, whose garbage would be everybody's.
        match order["do"]:
            case "call":
                _call(channel, order, spawn.limits.output_bytes)
            case "check":
                _check(channel, order)
            case "probe":
                _probe(channel, order)
    except FrameError:
        pass  # Main let go of this child before it was needed.
    except BaseException as error:  # noqa: BLE001 - whatever it is, main must hear of it
        write_frame(channel, {"failed": f"{type(error).__name__}: {error}"})
    finally:
        _exit(0)


def _call(channel: int, order: dict[str, Any], output_bytes_max: int) -> None:
    if order["rehearse"]:
        rehearse(REHEARSAL)
    if order["network"]:
        connect_by_broker(channel)

    try:
        module, offer = _loaded(channel, order)
    except ModuleFault as refused:
        _flush()
        write_frame(channel, {"answer": _broken(refused.fault)})
    else:
        write_frame(channel, {"ready": True} | offer)
        call = read_frame(channel)
        outcome = call_tool(
            module, call["tool"], call["arguments"], call["context"], output_bytes_max=output_bytes_max
        )
        write_frame(channel, {"answer": _answer(outcome)})
    return _wait_for_the_end(channel)


def _loaded(channel: int, order: dict[str, Any]) -> tuple[Module, dict[str, Any]]:
    """The module, and what is told of it to the children that come after this one; raises ModuleFault."""
    known = order["known"]
    if known is not None:
        code = a2b_base64(known["code"])
        return load_known(order["module"], order["source"], code, known["places"]), {}

    def announce(code: CodeType) -> None:
        portable = portable_code(code)
        told = None if portable is None else b2a_base64(portable, newline=False).decode()
        write_frame(channel, {"imports": imports_of_code(code), "code": told})

    source = order["source"].encode("utf-8", "replace")
    module = load_module(order["module"], source, for_one_call=True, announce=announce)
    return module, {"places": places(module)}


def _answer(outcome: Outcome) -> dict[str, Any]:
    """Of a result that is JSON, only its text crosses: main checks that and passes it on as it is."""
    if "value" in outcome:
        return {"json": outcome["text"]}
    return outcome


def _broken(fault: Fault) -> dict[str, Any]:
    code = fault.code if fault.code in LIMIT_CODES else "MODULE_BROKEN"
    error = fault.message if fault.traceback is None else f"{fault.message}\n{fault.traceback}"
    return {"code": code, "error": error}


def _check(channel: int, order: dict[str, Any]) -> None:
    def send(stage: dict[str, Any]) -> None:
        write_frame(channel, {"stage": stage})

    check_module(order["module"], a2b_base64(order["source"]), send=send)
    _flush()
    write_frame(channel, {"done": True})
    _wait_for_the_end(channel)


def _probe(channel: int, order: dict[str, Any]) -> None:
    plants = Plants(**order["plants"] | {"workdir": os.getcwd()})
    twins = {twin.name: twin for twin in TWINS}
    write_frame(channel, {"sights": {name: twins[name].try_it(plants).saw for name in order["twins"]}})
    _wait_for_the_end(channel)


def _wait_for_the_end(channel: int) -> None:
    """Main reads what the call cost from the living process, and kills it."""
    _read(channel, 1)


def _flush() -> None:
    """Whatever the module put in place of the streams: its fault is not the call's."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
