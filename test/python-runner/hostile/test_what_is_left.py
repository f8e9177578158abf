"""After all that was tried, a runner has what it had: it comes last by its name."""

import glob
import os

from hostile.targets import PLANTED
from hostile.uploads import HONEST
from hostile.watched_runner import BEFORE, STARTED
from support.live_runner import LiveRunner
from support.process_tree import children_of, descendants_of, zygotes_of
from support.until import until


def test_a_runner_has_no_more_processes_and_descriptors_than_its_children_that_wait_need(
    any_runner: LiveRunner,
) -> None:
    pid = any_runner.process.pid
    assert any_runner.invoke(HONEST, "hostile:hello", tenant="the last")["text"] == "hello"
    until(
        lambda: len(children_of(pid)) == any_runner.health()["children"]["alive"], "every child accounted for"
    )

    def is_settled() -> bool:
        children = any_runner.health()["children"]
        return bool(children["alive"] - children["waiting"] == 2)

    until(is_settled, "the end of all children but those that wait")
    alive = any_runner.health()["children"]["alive"]
    # One without packages and four with; each has a process outside of its namespaces.
    until(lambda: len(zygotes_of(pid)) <= 5 * 2, "the end of zygotes that had to make room")
    zygotes = len(zygotes_of(pid))
    # A child has its channel, its output and its pidfd; a zygote two processes, its line and its pidfd.
    until(lambda: descriptors(pid) <= BEFORE[pid] + 3 * alive + zygotes, "no descriptor that nobody needs")
    assert len(descendants_of(pid)) == alive + zygotes


def test_nothing_is_left_in_the_temporary_folder(any_runner: LiveRunner) -> None:
    assert any_runner.process.pid in STARTED
    assert [path for pid in STARTED for path in glob.glob(f"/tmp/toolrack-runner-{pid}-*")] == []
    assert [folder for folder in PLANTED if folder.exists()] == []


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))
