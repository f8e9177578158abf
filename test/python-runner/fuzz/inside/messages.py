"""The module of `fuzz.messages`: it finds the channel of its process, and writes what it is told when it is told.

`PLAN` is replaced by a JSON text: `moment`; `writes`, a list of bytes in base64 that are written one after another; `port`,
where somebody listens whom it may be connected to.
"""

import base64
import json
import os
import socket
import stat
import sys
import threading
import time
from contextlib import suppress
from types import FrameType

PLAN = json.loads("{}")
#: Moments between two writes, so that main hears some of them alone.
PAUSE_SECONDS = 0.001


def channel() -> int:
    for number in range(3, 64):
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                return number
    return -1


CHANNEL = channel()


def forge() -> None:
    for text in PLAN["writes"]:
        data = base64.b64decode(text)
        while data:
            data = data[os.write(CHANNEL, data) :]
        time.sleep(PAUSE_SECONDS)


def is_known() -> bool:
    """Whether main knew this module when it had it imported."""
    caller: FrameType | None = sys._getframe()
    while caller is not None and caller.f_code.co_name != "load_known":
        caller = caller.f_back
    return caller is not None


def forge_later(seconds: float) -> None:
    def wait_and_forge() -> None:
        time.sleep(seconds)
        with suppress(OSError):
            forge()

    threading.Thread(target=wait_and_forge, daemon=True).start()


def at(moment: str) -> None:
    if PLAN.get("moment") == moment:
        forge()


def connect_and_forge() -> None:
    """A wish of the tool's own, and before its reply what is forged."""
    wish = json.dumps({"connect": {"host": "localhost", "port": PLAN["port"]}}).encode()
    os.write(CHANNEL, len(wish).to_bytes(4, "big") + wish)
    forge()


def run() -> str:
    at("called")
    if PLAN.get("moment") == "connecting":
        connect_and_forge()
    if PLAN.get("moment") == "connected":
        with suppress(OSError):
            socket.create_connection(("localhost", PLAN["port"]))
        forge()
    if PLAN.get("moment") == "answered":
        forge_later(0)
    if PLAN.get("moment") == "answering":
        forge_later(0.002)
        time.sleep(0.002)
    return "run"


if is_known():
    at("known")
else:
    at("importing")
if PLAN.get("moment") == "ready":
    forge_later(0)
if PLAN.get("moment") == "waiting":
    forge_later(0.02)
if PLAN.get("moment") == "loaded":
    forge_later(0.005)

TOOL_SPECS = [
    {
        "name": "fuzz:run",
        "description": "Writes to its channel.",
        "handler": run,
        "examples": [{"arguments": {}, "result": "run"}],
    }
]
