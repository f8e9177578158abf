"""One check: a module is read, then imported and its examples run, in a child that answers after each stage."""

import asyncio
import base64
import time
from dataclasses import dataclass

from toolrack_runner.module.fault import Fault
from toolrack_runner.module.report import (
    CheckReport,
    import_crashed,
    import_hung,
    import_too_large,
    specs_too_large,
)
from toolrack_runner.pool.channel import ChannelClosed
from toolrack_runner.pool.check_report import as_report, refused_report, with_lost_example
from toolrack_runner.pool.children import PoolFailure
from toolrack_runner.pool.ending import end_of, line_now
from toolrack_runner.pool.fair_queue import THE_SERVICE
from toolrack_runner.pool.memory_watch import watched
from toolrack_runner.pool.outcome import Usage
from toolrack_runner.pool.pool import Pool
from toolrack_runner.pool.worker import HeldTooMuch, Worker
from toolrack_runner.wire.child_messages import (
    CheckOrder,
    ChildMessage,
    ExampleStarts,
    Failed,
    MessageTooLarge,
    ProtocolError,
    StageReport,
)
from toolrack_runner.zygote.messages import Limits

#: What a check needs beside the module's own imports; a zygote that holds them spares each check their 60 ms.
LIBRARIES = frozenset({"docstring_parser", "jsonschema_rs", "pydantic"})
#: Of a report, which main and the service each parse on the one thread that they have. The definitions of one module may
#: take 2 MB in the service; the rest is for faults, notes and outcomes of examples.
REPORT_BYTES_MAX = 3 << 20


@dataclass(frozen=True, slots=True)
class Checked:
    """The report of the last stage that came, completed by what main saw."""

    report: CheckReport
    log: str
    log_is_truncated: bool
    usage: Usage
    #: Whether it was ended at its deadline, or by the bound of its processor time.
    ran_out_of_time: bool


async def run_check(pool: Pool, name: str, source: bytes, *, tenant: str, seconds: float) -> Checked:
    """Checks a module for a user; raises PoolFailure before anything of it ran."""
    pool.zygotes.prepare(THE_SERVICE, LIBRARIES)
    started = time.monotonic()
    worker = await pool.blank(Limits(), LIBRARIES)
    worker.yield_to_others(pool.recent_use.steps(tenant))
    worker.take_at_most(REPORT_BYTES_MAX)
    try:
        worker.send(CheckOrder(name, base64.b64encode(source).decode()))
        with watched(worker), pool.long_calls.once_long(tenant, worker):
            progress = _Progress(worker, name)
            report = await progress.watch(seconds)
        usage = Usage(
            (time.monotonic() - started) * 1000,
            worker.cpu_seconds() * 1000,
            worker.holding().resident_bytes_max,
            progress.main_seconds + worker.heard_seconds,
        )
        return Checked(
            report, worker.output.text(), worker.output.is_truncated, usage, progress.ran_out_of_time
        )
    finally:
        pool.recent_use.add(tenant, worker.cpu_seconds())
        worker.kill()


class _Progress:
    """How far a check has come."""

    def __init__(self, worker: Worker, module: str) -> None:
        self._worker = worker
        self._module = module
        self._report: CheckReport | None = None
        self._example: ExampleStarts | None = None
        self.ran_out_of_time = False
        #: Processor time that main took to believe what was reported.
        self.main_seconds = 0.0

    async def watch(self, seconds: float) -> CheckReport:
        """Follows the stages to the last; what the child did not live to tell is told for it."""
        try:
            async with asyncio.timeout(seconds):
                while self._report is None or self._report["stage"] != "loaded":
                    self._note(await self._worker.receive())
                return self._report
        except TimeoutError:
            self.ran_out_of_time = True
            line = await line_now(self._worker, self._module)
            return self._ended(
                "DEADLINE_EXCEEDED",
                f"it did not end within {seconds:g} s",
                import_hung(self._module, line, seconds),
            )
        except HeldTooMuch as reason:
            how = str(reason)
            return self._ended("MEMORY_LIMIT", how, import_too_large(self._module, how))
        except MessageTooLarge:
            return self._ended(
                "RESULT_TOO_LARGE", "it said too much", specs_too_large(self._module, REPORT_BYTES_MAX)
            )
        except ProtocolError as broken:
            how = f"it wrote to the channel of the report ({broken})"
        except ChannelClosed:
            end = await end_of(self._worker, self._module)
            self.ran_out_of_time = end.by == "processor limit"
            how = end.how
        return self._ended("TOOL_CRASHED", how, import_crashed(self._module, None, how))

    def _note(self, message: ChildMessage) -> None:
        match message:
            case StageReport():
                before = time.thread_time()
                try:
                    self._report = as_report(message, self._module)
                finally:
                    self.main_seconds += time.thread_time() - before
            case ExampleStarts():
                self._example = message
            case Failed():
                raise PoolFailure(f"the child could not be confined or fed: {message.reason}")

    def _ended(self, code: str, how: str, fault: Fault) -> CheckReport:
        report = self._report
        if report is None or report["stage"] == "parsed":
            return refused_report(report, self._module, fault)
        return with_lost_example(report, self._example, code, how)
