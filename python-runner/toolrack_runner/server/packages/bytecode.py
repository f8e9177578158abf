"""Compiles an environment ahead. Without compiled files, the import of pandas takes four times as long."""

import asyncio
import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from toolrack_runner.packages_path import PACKAGES_PATH
from toolrack_runner.server.packages.places import AT_ONCE
from toolrack_runner.server.packages.program import Bounds, run_program

_SCRIPT = str(Path(__file__).with_name("compile_files.py"))
#: The most memory of all processes that compile for one runner.
MEMORY_BYTES_OF_ALL = 2 << 30
#: The most processes that compile for one environment at once. More would take the processors from calls.
PROCESSES_MAX = 2
#: The most memory of one process. Compiling takes about 100 times the size of a file. A larger file is not compiled.
MEMORY_BYTES = MEMORY_BYTES_OF_ALL // (AT_ONCE * PROCESSES_MAX)
#: The most bytes of a compiled file.
FILE_BYTES = 64 << 20
#: How many files may end the process before the remaining files of its share are left as they are.
DEATHS_MAX = 10


async def compile_all(folder: Path, sources: Sequence[str], cpu_seconds: int) -> None:
    """Compiles `sources`, paths in `folder`. Files that cannot be compiled are left as they are.

    Raises OSError if the disk is full.
    """
    processes = min(PROCESSES_MAX, os.cpu_count() or 1)
    shares = [sources[at::processes] for at in range(processes)]
    running = [_compile(folder, share, cpu_seconds) for share in shares if share]
    for failure in await asyncio.gather(*running, return_exceptions=True):
        if failure is not None:
            raise failure


async def _compile(folder: Path, sources: Sequence[str], cpu_seconds: int) -> None:
    command = [sys.executable, "-I", "-S", _SCRIPT, str(folder), PACKAGES_PATH]
    bounds = Bounds(FILE_BYTES, MEMORY_BYTES, cpu_seconds)
    for _ in range(DEATHS_MAX):
        reached = 0

        def note(line: str) -> None:
            nonlocal reached
            if line.isdigit():
                reached = int(line)

        given = "".join(f"{path}\n" for path in sources).encode("utf-8", "surrogateescape")
        ended = await run_program(command, {"LANG": "C.UTF-8"}, bounds, given=given, on_line=note)
        if ended.status in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(ended.status, os.strerror(ended.status))
        if ended.status == 0:
            return
        # The file at which the process has died is left out.
        sources = sources[reached + 1 :]
