"""Finds out why a child has ended without an answer, and which line of its module was running."""

import asyncio
import re
from contextlib import suppress
from signal import SIGKILL, SIGXCPU
from typing import NamedTuple

from toolrack_runner.limits import FILE_PATH_CHARS_MAX
from toolrack_runner.server.pool.output import CRASH_REPORT
from toolrack_runner.server.pool.worker import Worker

#: How many seconds a child may live after it has closed its channel. Then it is killed.
ENDING_SECONDS = 0.05
#: How many seconds the server process waits until the zygote reports that a child has ended.
REAPING_SECONDS = 2.0
#: How many seconds the server process waits until the child's interpreter has written which line is running. Other processes
#: may run before the child.
WHERE_SECONDS = 1.0


class Place(NamedTuple):
    """A line of the module."""

    file: str
    line: int

    @property
    def shown(self) -> str:
        """The place as words of a sentence. If the module has only one file, the line is enough."""
        return f"line {self.line} of {self.file}" if "/" in self.file else f"line {self.line}"


class End(NamedTuple):
    """How a child without an answer ended."""

    #: The error code of its call.
    code: str
    #: Such as `exit code 3` or `signal 11 in line 7`.
    how: str


async def end_of(worker: Worker, module: str) -> End:
    """Waits until a child that has closed its channel ends. If it does not end, kills it.

    A tool cannot send SIGKILL or SIGXCPU, not even to itself (seccomp). So if the child ended by one of them, the kernel or
    an operator has sent it.
    """
    if not await is_reaped(worker, ENDING_SECONDS) and not (
        worker.has_exited and await is_reaped(worker, REAPING_SECONDS)
    ):
        worker.kill()
        # When a process ends, its channel is closed before its end can be seen. So the child may have ended before it was
        # killed.
        if not await is_reaped(worker, REAPING_SECONDS) or _is_killed(worker):
            return End("RESULT_INVALID", "it closed the channel of its answer")
    gone = worker.gone.result()
    if gone is None:
        return End("WORKER_DIED", "the process it was forked from died")
    is_at_limit = gone.cpu_seconds > worker.limits.cpu_seconds - 0.5
    if gone.exit_code == -SIGXCPU or (gone.exit_code == -SIGKILL and is_at_limit):
        return End("CPU_LIMIT", f"it used up {worker.limits.cpu_seconds} s of processor time")
    if gone.exit_code == -SIGKILL:
        return End("WORKER_DIED", "it was killed from outside")
    if gone.exit_code < 0:
        place = _crash_place(worker, module)
        return End("TOOL_CRASHED", f"signal {-gone.exit_code}" + (f" in {place.shown}" if place else ""))
    return End("TOOL_CRASHED", f"exit code {gone.exit_code}")


def _is_killed(worker: Worker) -> bool:
    gone = worker.gone.result()
    return gone is not None and gone.exit_code == -SIGKILL


async def is_reaped(worker: Worker, seconds: float) -> bool:
    """Waits at most `seconds` for the child to be reaped. Returns whether it is."""
    await asyncio.wait([worker.gone], timeout=seconds)
    return worker.gone.done()


async def line_now(worker: Worker, module: str) -> Place | None:
    """Where the module is running now. The interpreter reports it. The child's log is cut before this report.

    None at once if no report can come: the log is full, its module does not run yet, or nobody can write to the output.
    """
    output, place = worker.output, None
    before = output.length
    if before >= output.bytes_max or output.has_ended:
        return None
    output.end_live()
    if not worker.ask_where():
        return None
    with suppress(TimeoutError):
        async with asyncio.timeout(WHERE_SECONDS):
            while (place := _place_in(output.text(before), module)) is None and not output.has_ended:
                await output.more()
    output.end_at(before)
    return place


def _crash_place(worker: Worker, module: str) -> Place | None:
    """Where the module has crashed. The interpreter has reported it in the log. Removes this report from the log."""
    text = worker.output.text()
    start = text.rfind(CRASH_REPORT.decode())
    if start < 0:
        return None
    place = _place_in(text[start:], module)
    worker.output.end_at(len(text[:start].encode()))
    return place


def _place_in(dump: str, module: str) -> Place | None:
    """The innermost place in the module in a report of faulthandler."""
    file = rf"{re.escape(module)}(?:\.py|/[\w./-]{{1,{FILE_PATH_CHARS_MAX}}})"
    found = re.search(rf'File "({file})", line ([0-9]{{1,7}}) in ', dump, re.ASCII)
    return Place(found[1], int(found[2])) if found else None
