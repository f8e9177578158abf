"""Children that end without an answer: whose doing it was, and where they were."""

import asyncio
import re

from toolrack_runner.pool.outcome import Outcome, failure
from toolrack_runner.pool.worker import Worker
from toolrack_runner.zygote.messages import Gone

#: How long a child that closed its channel has to end by itself before it is killed.
ENDING_SECONDS = 0.05
#: How long the zygote may take to tell of an end.
REAPING_SECONDS = 2.0
#: How long the interpreter has to write which line it ran.
WHERE_SECONDS = 0.01
SIGKILL, SIGXCPU = 9, 24


async def ended(worker: Worker, subject: str) -> Outcome:
    """What to say of a child that closed its channel without an answer."""
    gone = await _end_of(worker, ENDING_SECONDS)
    if gone is None and not worker.gone.done():
        worker.kill()
        await _end_of(worker, REAPING_SECONDS)
        return failure(
            "RESULT_INVALID", f"{subject}: the channel of the result was closed from inside the tool"
        )
    if gone is None:
        return failure(
            "WORKER_DIED", "the process that the worker was forked from died, and the worker with it"
        )
    return explain_end(gone, worker, subject)


def explain_end(gone: Gone, worker: Worker, subject: str) -> Outcome:
    """Whose doing the end of a child was, from its exit code.

    A tool can't send SIGKILL, not even to itself (seccomp), so that signal is the kernel's or an operator's.
    """
    seconds = worker.limits.cpu_seconds
    if gone.exit_code in (-SIGXCPU, -SIGKILL) and gone.cpu_seconds > seconds - 0.5:
        return failure(
            "CPU_LIMIT", f"{subject} used up the {seconds} s of processor time that a call may take"
        )
    if gone.exit_code == -SIGKILL:
        return failure(
            "WORKER_DIED", "the worker was killed from outside; whether the tool was done is not known"
        )
    if gone.exit_code < 0:
        return failure(
            "TOOL_CRASHED", f"{subject} crashed its process: signal {-gone.exit_code}{_crash(worker)}"
        )
    return failure(
        "TOOL_CRASHED",
        f"{subject} ended its process (exit code {gone.exit_code}) instead of returning a result",
    )


async def where(worker: Worker, module: str) -> str:
    """Which line of the module runs now, as " (line N was running)"; empty where the interpreter does not say."""
    line = await line_now(worker, module)
    return f" (line {line} was running)" if line else ""


async def line_now(worker: Worker, module: str) -> int | None:
    """Which line of the module runs now, asked of the interpreter and not of the module."""
    before = worker.output.length
    worker.ask_where()
    await asyncio.sleep(WHERE_SECONDS)
    return line_in(worker.output.take_from(before), module)


def line_in(dump: str, module: str) -> int | None:
    """The innermost line of the module in what faulthandler wrote."""
    found = re.search(rf'File "{re.escape(module)}\.py", line (\d+)', dump)
    return int(found[1]) if found else None


def _crash(worker: Worker) -> str:
    """Takes what faulthandler wrote of the crash out of the log, and says the line."""
    text = worker.output.text()
    start = text.rfind("Fatal Python error: ")
    if start < 0:
        return ""
    dump = worker.output.take_from(len(text[:start].encode()))
    found = re.search(r'File "(\w+\.py)", line (\d+)', dump)
    return f" ({found[1]}, line {found[2]})" if found else ""


async def _end_of(worker: Worker, seconds: float) -> Gone | None:
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.shield(worker.gone)
    except TimeoutError:
        return None
