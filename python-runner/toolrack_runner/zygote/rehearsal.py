"""A call of our own that is run and not answered, so that a real one finds everything in its place."""

import sys

from toolrack_runner.module import call_tool, load_module
from toolrack_runner.module.load import LoadedModule
from toolrack_runner.wire.frames import encode_frame

SOURCE = b"""
def echo(text: str) -> str:
    return text

TOOL_SPECS = [{"name": "rehearsal:echo", "description": "Says what it is told.", "handler": echo}]
"""
#: After eight runs the interpreter has written what it learned about a function into its code, and writes there no more.
TIMES = 16


def practise() -> None:
    """In the zygote, TIMES over: settles the code that a call runs, for a child copies every page that it writes to."""
    rehearse(load_rehearsal())


def load_rehearsal() -> LoadedModule:
    """The module of the rehearsal, ours."""
    module = load_module("rehearsal", SOURCE, for_one_call=True)
    del sys.modules["rehearsal"]
    return module


def rehearse(module: LoadedModule) -> None:
    """In the child: what a call touches is then this process's, and the call itself copies hardly a page."""
    outcome = call_tool(module, "rehearsal:echo", {"text": "x" * 1_000}, {}, output_bytes_max=1 << 20)
    encode_frame({"answer": outcome})
