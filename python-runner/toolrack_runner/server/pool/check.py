"""Runs one check: a child reads a module, imports it and runs its examples, and reports after each stage."""

import asyncio
import base64
import time
from dataclasses import dataclass

from toolrack_runner.file_paths import INIT
from toolrack_runner.server.network.public_address import allows_this_machine
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.pool.channel import ChannelClosedError
from toolrack_runner.server.pool.check_report import as_report, refused_report, with_lost_example
from toolrack_runner.server.pool.children import PoolError
from toolrack_runner.server.pool.ending import end_of, line_now
from toolrack_runner.server.pool.fair_queue import THE_SERVICE
from toolrack_runner.server.pool.outcome import Observed, observe
from toolrack_runner.server.pool.pool import Pool
from toolrack_runner.server.pool.preloaded import know_installed, shared
from toolrack_runner.server.pool.worker import HeldTooMuchError, Worker
from toolrack_runner.wire import child_messages as messages
from toolrack_runner.wire.child_messages import MessageTooLargeError, ProtocolError
from toolrack_runner.wire.fault import Fault
from toolrack_runner.wire.report import (
    CheckReport,
    import_crashed,
    import_hung,
    import_too_large,
    specs_too_large,
)
from toolrack_runner.wire.zygote_messages import Limits

#: The libraries that a check needs. A zygote preloads them, because importing them takes 60 ms.
LIBRARIES = frozenset({"docstring_parser", "jsonschema_rs", "pydantic"})
#: The most bytes of a report. The service accepts definitions of up to 2 MB from one module. The rest is for faults, notes
#: and results of examples. The limit is low, because the server process and the service have only one thread each to parse a
#: report.
REPORT_BYTES_MAX = 3 << 20


@dataclass(frozen=True, slots=True)
class Checked:
    """The last report of a child, completed by the server process, and the child's output and usage."""

    report: CheckReport
    observed: Observed
    #: Whether the check was ended because of the deadline or of the limit of processor time.
    ran_out_of_time: bool


async def run_check(
    pool: Pool,
    name: str,
    source: bytes | dict[str, bytes],
    *,
    tenant: str,
    seconds: float,
    environment: Environment | None = None,
) -> Checked:
    """Checks a module for a user within `seconds`. If PoolError is raised, no code of the module has run.

    `environment` has the packages of the module.
    """
    if environment is not None:
        await know_installed()
    # If the environment has another version of a library, the child is forked from a zygote without this library.
    libraries = shared(LIBRARIES, environment)
    pool.zygotes.prepare(THE_SERVICE, libraries)
    started = time.monotonic()
    worker = await pool.blank(Limits(), libraries, environment)
    worker.channel.take_at_most(REPORT_BYTES_MAX)
    try:
        with pool.at_work(tenant, worker):
            this_machine = allows_this_machine(pool.network_allowed)
            worker.send(messages.CheckOrder(name, _in_base64(source), this_machine))
            progress = _Progress(
                worker, name, f"{name}.py" if isinstance(source, bytes) else f"{name}/{INIT}"
            )
            report = await progress.watch(seconds)
        observed = observe(worker, worker.holding(), started=started, cpu_before=0.0)
        return Checked(report, observed, progress.ran_out_of_time)
    finally:
        worker.kill()


def _in_base64(source: bytes | dict[str, bytes]) -> messages.SourceText:
    if isinstance(source, bytes):
        return base64.b64encode(source).decode()
    return {path: base64.b64encode(content).decode() for path, content in source.items()}


@dataclass
class _Progress:
    _worker: Worker
    _module: str
    #: The file that exports TOOL_SPECS.
    _main: str
    _report: CheckReport | None = None
    _example: messages.ExampleStarts | None = None
    ran_out_of_time: bool = False

    async def watch(self, seconds: float) -> CheckReport:
        """Waits for the last report. If the child ends before it, completes the last report that the child has sent."""
        module = self._module
        try:
            async with asyncio.timeout(seconds):
                return await self._last_report()
        except TimeoutError:
            self.ran_out_of_time = True
            place = await line_now(self._worker, module)
            hung = (
                import_hung(place.file, place.line, seconds)
                if place
                else import_hung(self._main, None, seconds)
            )
            how = f"it did not end within {seconds:g} s"
            return self._ended("DEADLINE_EXCEEDED", how, hung)
        except HeldTooMuchError as reason:
            return self._ended("MEMORY_LIMIT", f"{reason}", import_too_large(self._main, f"{reason}"))
        except MessageTooLargeError:
            fault = specs_too_large(self._main, REPORT_BYTES_MAX)
            return self._ended("RESULT_TOO_LARGE", "it reported too much", fault)
        except ProtocolError as broken:
            how = f"it wrote to the channel of the report ({broken})"
        except ChannelClosedError:
            end = await end_of(self._worker, module)
            self.ran_out_of_time = end.code == "CPU_LIMIT"
            how = end.how
        return self._ended("TOOL_CRASHED", how, import_crashed(self._main, None, how))

    async def _last_report(self) -> CheckReport:
        while self._report is None or self._report["stage"] != "loaded":
            match await self._worker.channel.receive():
                case messages.StageReport() as stage:
                    with self._worker.channel.timed():
                        self._report = as_report(stage, self._module)
                case messages.ExampleStarts() as example:
                    self._example = example
                case messages.Failed() as failed:
                    raise PoolError(f"the child could not be confined or fed: {failed.reason}")
        return self._report

    def _ended(self, code: str, how: str, fault: Fault) -> CheckReport:
        report = self._report
        if report is None or report["stage"] == "parsed":
            return refused_report(report, self._module, fault)
        return with_lost_example(report, self._example, code, how)
