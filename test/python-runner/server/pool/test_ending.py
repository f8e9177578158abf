"""Whose doing it was that a child ended without an answer."""

import asyncio
import os
from types import SimpleNamespace
from typing import Any, cast

import pytest

from toolrack_runner.server.pool.ending import Place, end_of, line_now
from toolrack_runner.server.pool.output import Output
from toolrack_runner.wire.zygote_messages import Gone, Limits

SIGKILL, SIGXCPU, SIGSYS = 9, 24, 31


@pytest.mark.parametrize(
    ("signal", "cpu_seconds", "code"),
    [
        # The kernel's count for the limit is higher than the one it reports for the process: by a second with many threads.
        (SIGXCPU, 10.0, "CPU_LIMIT"),
        (SIGXCPU, 8.7, "CPU_LIMIT"),
        (SIGKILL, 10.9, "CPU_LIMIT"),
        (SIGKILL, 1.0, "WORKER_DIED"),
    ],
)
def test_a_child_can_not_end_by_its_limit_of_processor_time_or_from_outside_by_itself(
    signal: int, cpu_seconds: float, code: str
) -> None:
    async def ended() -> str:
        gone: asyncio.Future[Gone] = asyncio.get_running_loop().create_future()
        gone.set_result(Gone(1, -signal, cpu_seconds, 0))
        worker = SimpleNamespace(gone=gone, has_exited=True, limits=Limits(cpu_seconds=10))
        return (await end_of(cast("Any", worker), "module")).code

    assert asyncio.run(ended()) == code


@pytest.mark.parametrize(("signal", "code"), [(SIGSYS, "TOOL_CRASHED"), (SIGKILL, "RESULT_INVALID")])
def test_a_child_that_was_already_ending_when_it_was_killed_has_its_own_end(signal: int, code: str) -> None:
    async def ended() -> str:
        gone: asyncio.Future[Gone] = asyncio.get_running_loop().create_future()
        worker = SimpleNamespace(
            gone=gone,
            has_exited=False,
            limits=Limits(cpu_seconds=10),
            output=SimpleNamespace(text=lambda: ""),
            kill=lambda: gone.set_result(Gone(1, -signal, 0.1, 0)),
        )
        return (await end_of(cast("Any", worker), "module")).code

    assert asyncio.run(ended()) == code


@pytest.mark.parametrize("closes", [False, True])
def test_nobody_waits_for_the_line_of_a_child_that_was_not_asked_or_cannot_write(closes: bool) -> None:
    async def waits() -> tuple[Place | None, int]:
        output, waited = Output(), 0
        more = output.more

        async def count() -> None:
            nonlocal waited
            waited += 1
            await more()

        output.more = count  # type: ignore[method-assign]
        if closes:
            output.handed_over()
        worker = SimpleNamespace(output=output, ask_where=lambda: closes)
        place = await line_now(cast("Any", worker), "module")
        output.close()
        return place, waited

    assert asyncio.run(waits()) == (None, 0)


def test_who_closes_its_output_after_it_was_asked_is_not_waited_for_longer() -> None:
    async def asked() -> tuple[Place | None, int]:
        output, waited = Output(), 0
        writer = os.dup(output.child_end)
        output.handed_over()
        more = output.more

        async def count() -> None:
            nonlocal waited
            waited += 1
            await more()

        output.more = count  # type: ignore[method-assign]
        loop = asyncio.get_running_loop()
        worker = SimpleNamespace(output=output, ask_where=lambda: bool(loop.call_soon(os.close, writer)))
        place = await line_now(cast("Any", worker), "module")
        output.close()
        return place, waited

    assert asyncio.run(asked()) == (None, 1)


def test_the_line_that_the_interpreter_writes_is_found_and_removed_from_the_log() -> None:
    async def asked() -> tuple[Place | None, str]:
        output = Output()
        os.write(output.child_end, b"printed\n")
        report = b'Current thread:\n  File "module.py", line 7 in run\n'
        worker = SimpleNamespace(output=output, ask_where=lambda: os.write(output.child_end, report))
        place = await line_now(cast("Any", worker), "module")
        text = output.text()
        output.close()
        return place, text

    assert asyncio.run(asked()) == (Place("module.py", 7), "printed\n")
