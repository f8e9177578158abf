"""Modules checked and called in a process of their own, as what they do there would be the end of the tests' own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

RUNNER = Path(__file__).parents[4] / "python-runner"
DRIVER = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from toolrack_runner.child.module.call import call_tool
from toolrack_runner.child.module.check import check_module
from toolrack_runner.child.module.load import load_module
from toolrack_runner.wire.frames import write_frame
given = json.loads(sys.argv[2])
channel, sent = int(sys.argv[3]), json.load(sys.stdin)
read = lambda text: text.encode("latin-1")
source = read(sent) if isinstance(sent, str) else {path: read(text) for path, text in sent.items()}
end = os._exit
if given["arguments"] is None:
    check_module(given["module"], source, send=lambda sent: write_frame(channel, sent))
else:
    module = load_module(given["module"], source)
    tool = given["module"] + ":run"
    write_frame(channel, call_tool(module, tool, given["arguments"], {}, output_bytes_max=1000))
end(0)
"""


def checked_apart(name: str, source: bytes | dict[str, bytes]) -> dict[str, Any]:
    """The last report that a check sends."""
    return _run_apart(name, source, None)[-1]


def called_apart(name: str, source: bytes, **arguments: Any) -> dict[str, Any]:
    """The outcome of the tool `run` of a module."""
    (outcome,) = _run_apart(name, source, arguments)
    return outcome


def _run_apart(
    name: str, source: bytes | dict[str, bytes], arguments: dict[str, Any] | None
) -> list[dict[str, Any]]:
    reader, writer = os.pipe()
    given = json.dumps({"module": name, "arguments": arguments})
    command = [sys.executable, "-I", "-c", DRIVER, str(RUNNER), given, str(writer)]
    texts = (
        source.decode("latin-1")
        if isinstance(source, bytes)
        else {path: content.decode("latin-1") for path, content in source.items()}
    )
    with os.fdopen(reader, "rb") as channel, TemporaryDirectory() as folder:
        try:
            sent = json.dumps(texts).encode()
            subprocess.run(command, input=sent, cwd=folder, pass_fds=[writer], check=True, timeout=60)
        finally:
            os.close(writer)
        messages: list[dict[str, Any]] = []
        while length := channel.read(4):
            messages.append(json.loads(channel.read(int.from_bytes(length, "big"))))
        return messages
