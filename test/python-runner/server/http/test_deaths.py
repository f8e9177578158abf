"""Whatever is killed costs the calls that were under way, and nothing of them is left."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.live_runner import LiveRunner, live_runner
from support.process_tree import children_of, descendants_of, zygotes_of
from support.until import until

RESTS = """
import time
def rest(seconds: float) -> str:
    time.sleep(seconds)
    return "rested"
TOOL_SPECS = [{"name": "rests:rest", "description": "Waits.", "handler": rest}]
"""


@pytest.mark.parametrize("victims_of", [children_of, zygotes_of], ids=["the children", "the zygotes"])
def test_what_is_killed_costs_the_call_under_way_and_no_other(
    any_runner: LiveRunner, victims_of: Callable[[int], set[int]]
) -> None:
    any_runner.health()
    until(lambda: len(children_of(any_runner.process.pid)) >= 2, "children that wait for any module")
    with ThreadPoolExecutor() as threads:
        call = threads.submit(any_runner.invoke, RESTS, "rests:rest", {"seconds": 20}, deadlineMs=20_000)
        until(lambda: any_runner.health()["calls"]["running"] == 1)
        victims = victims_of(any_runner.process.pid)
        for pid in victims:
            kill(pid)
        until(lambda: not victims & descendants_of(any_runner.process.pid), "the end of them all")
    assert call.result()["code"] == "WORKER_DIED"
    until(lambda: any_runner.health()["status"] == "ok")
    assert any_runner.invoke(RESTS, "rests:rest", {"seconds": 0})["text"] == "rested"
    until(any_runner.is_idle, "an idle runner")


@pytest.mark.parametrize("as_nobody", [False, True])
@pytest.mark.parametrize("without", [(), ("--without=namespaces",)], ids=["", "without namespaces"])
def test_a_runner_that_is_killed_takes_everything_along(as_nobody: bool, without: tuple[str, ...]) -> None:
    if as_nobody and os.geteuid() != 0:
        pytest.skip("not root: the other case is an ordinary user's already")
    with live_runner(*without, as_nobody=as_nobody) as live, ThreadPoolExecutor() as threads:
        call = threads.submit(ask, live)
        until(lambda: live.health()["calls"]["running"] == 1)
        below = descendants_of(live.process.pid)
        assert below
        os.kill(live.process.pid, signal.SIGKILL)
        assert call.result() is None
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in below), "the end of every process")
    left = list(Path("/tmp").glob(f"toolrack-runner-{live.process.pid}-*"))
    # The socket for frames is left, and without namespaces the work folders are too.
    assert len(left) == (2 if without else 1)
    with live_runner(as_nobody=as_nobody) as next_one:
        next_one.health()
        assert not any(folder.exists() for folder in left)


def test_a_runner_ends_when_its_parent_does_and_leaves_nothing() -> None:
    with live_runner("--without=namespaces") as live, ThreadPoolExecutor() as threads:
        call = threads.submit(ask, live)
        until(lambda: live.health()["calls"]["running"] == 1)
        below = descendants_of(live.process.pid)
        assert live.process.stdin
        live.process.stdin.close()
        assert live.process.wait(20) == 0
        assert call.result() is None
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in below), "the end of every process")
    assert not list(Path("/tmp").glob(f"toolrack-runner-{live.process.pid}-*"))


def test_sigterm_lets_calls_under_way_end() -> None:
    with live_runner() as live, ThreadPoolExecutor() as threads:
        call = threads.submit(live.invoke, RESTS, "rests:rest", {"seconds": 1})
        until(lambda: live.health()["calls"]["running"] == 1)
        live.process.terminate()
        assert call.result()["text"] == "rested"
        assert live.process.wait(20) == 0


def ask(live: LiveRunner) -> dict[str, Any] | None:
    """The answer to a call; None if the runner is gone."""
    try:
        return live.invoke(RESTS, "rests:rest", {"seconds": 20}, deadlineMs=20_000)
    except httpx.TransportError:
        return None


def kill(pid: int) -> None:
    """Kills a process, which may have died with another one."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
