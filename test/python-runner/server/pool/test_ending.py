"""Whose doing it was that a child ended without an answer."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from toolrack_runner.server.pool.ending import end_of
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
