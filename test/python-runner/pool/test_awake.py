"""The next child of a module waits without being stopped, if it left nothing running; no call is ever stopped."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.live_runner import LiveRunner, live_runner
from support.process_tree import children_of
from support.until import until

QUIET = """
def run() -> str:
    return "ran"
TOOL_SPECS = [{"name": "m:run", "description": "Runs.", "handler": run}]
"""
WITH_A_THREAD = (
    "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n" + QUIET
)
WITH_A_HANDLER = "import signal\nsignal.signal(signal.SIGALRM, lambda *_: None)\n" + QUIET
SLEEPY = QUIET.replace("    return", "    import time\n    time.sleep(1)\n    return")


def stopped(runner: LiveRunner) -> int:
    """How many children are stopped."""
    count = 0
    for pid in children_of(runner.process.pid):
        if os.path.exists(f"/proc/{pid}/stat"):
            with open(f"/proc/{pid}/stat") as file:
                count += file.read().rpartition(")")[2].split()[0] == "T"
    return count


@pytest.mark.parametrize(
    ("source", "awake"),
    [(QUIET, 1), (WITH_A_THREAD, 0), (WITH_A_HANDLER, 0)],
    ids=["quiet", "thread", "handler"],
)
def test_the_next_child_of_a_module_runs_only_if_nothing_else_does_in_it(source: str, awake: int) -> None:
    def all_but_so_many_are_stopped() -> bool:
        children = runner.health()["children"]
        is_settled = children["waiting"] and children["alive"] == children["waiting"] + 2
        return bool(is_settled and stopped(runner) == children["waiting"] - awake)

    with live_runner() as runner:
        for _ in range(4):
            assert runner.invoke(source, "m:run")["text"] == "ran"
        until(all_but_so_many_are_stopped, f"all children but {awake} to be stopped")


def test_calls_of_many_modules_are_not_stopped_while_they_run() -> None:
    with live_runner() as runner, ThreadPoolExecutor(8) as threads:
        sources = [f"{SLEEPY}# {number}" for number in range(16)]
        for _ in range(3):
            for answer in threads.map(lambda source: runner.invoke(source, "m:run"), sources):
                assert answer["outcome"] == "success", answer
