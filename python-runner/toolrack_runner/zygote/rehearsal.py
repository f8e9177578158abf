"""A call of our own that is run and not answered, so that a real one finds everything in its place."""

import sys

from toolrack_runner.module import call_tool, load_known, load_module, places, portable_code
from toolrack_runner.module.load import KnownModule
from toolrack_runner.module.source import code_object
from toolrack_runner.wire.frames import encode_frame
from toolrack_runner.zygote.answer_of import answer_of

SOURCE = b"""
def echo(text: str) -> str:
    return text

TOOL_SPECS = [{"name": "rehearsal:echo", "description": "Says what it is told.", "handler": echo}]
"""


def load_rehearsal() -> KnownModule:
    """The module of the rehearsal, ours, loaded in both ways."""
    code = portable_code(code_object("rehearsal", SOURCE.decode()))
    assert code is not None
    whole = load_module("rehearsal", SOURCE, for_one_call=True)
    module = load_known("rehearsal", SOURCE.decode(), code, places(whole))
    del sys.modules["rehearsal"]
    return module


def rehearse(module: KnownModule) -> None:
    """In the child: what a call touches is then this process's, and the call itself copies hardly a page."""
    outcome = call_tool(module, "rehearsal:echo", {"text": "x" * 1_000}, {}, output_bytes_max=1 << 20)
    encode_frame(answer_of(outcome).as_json())
