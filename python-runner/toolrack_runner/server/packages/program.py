"""Runs a program for packages: uv, or the compiler of an environment. It ends with the runner, and with its caller."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from toolrack_runner.server.packages.to_the_end import to_the_end

_LAUNCH = str(Path(__file__).with_name("launch.py"))
#: How much of the beginning of a program's messages is kept. An explanation of uv about 50 packages has some kilobytes.
TEXT_BYTES_MAX = 64 << 10


class Ended(NamedTuple):
    #: The exit status; negative if a signal has ended the program.
    status: int
    #: What it has written to standard error.
    text: str


class Bounds(NamedTuple):
    #: The most bytes of one file.
    file_bytes: int
    #: The most bytes of addresses. 0 means no limit, here and below.
    memory_bytes: int = 0
    cpu_seconds: int = 0
    #: The most bytes of memory of its own, with the stacks of its threads, but without mapped files.
    data_bytes: int = 0


async def run_program(
    command: Sequence[str],
    environment: Mapping[str, str],
    bounds: Bounds,
    *,
    given: bytes = b"",
    on_line: Callable[[str], None] = lambda _: None,
) -> Ended:
    """Runs a program to its end. `given` is its standard input; `on_line` gets each line of its standard error.

    If this is cancelled, the program and all processes that it has started are killed.
    """
    launcher = [sys.executable, "-I", "-S", _LAUNCH, str(os.getpid()), *map(str, bounds)]
    process = await asyncio.create_subprocess_exec(
        *launcher,
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=dict(environment),
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        process.stdin.write(given)
        process.stdin.close()
        text = bytearray()
        rest = b""
        while data := await process.stderr.read(4096):
            text += data[: max(TEXT_BYTES_MAX - len(text), 0)]
            *lines, rest = (rest + data)[-TEXT_BYTES_MAX:].split(b"\n")
            for line in lines:
                on_line(line.decode("utf-8", "replace"))
        return Ended(await process.wait(), text.decode("utf-8", "replace"))
    finally:
        # Also after its end: a process that it has started may be left.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # The caller may be cancelled meanwhile, perhaps for the second time.
        await to_the_end(process.wait())
