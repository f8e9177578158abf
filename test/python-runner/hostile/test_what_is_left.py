"""After all that was tried, a runner has what it had: it comes last by its name."""

import glob
import os

from hostile.targets import FOLDERS
from hostile.uploads import HONEST
from hostile.watched_runner import BEFORE, STARTED
from support.live_runner import LiveRunner
from support.process_tree import children_of, zygotes_of
from support.until import until


def test_a_runner_has_no_more_processes_and_descriptors_than_its_children_that_wait_need(
    any_runner: LiveRunner,
) -> None:
    pid = any_runner.process.pid
    assert any_runner.invoke(HONEST, "hostile:hello", tenant="the last")["text"] == "hello"

    # Children are made ahead for some time after a call, so all of it is looked at again until it fits together.
    def is_settled() -> bool:
        children, living, zygotes = any_runner.health()["children"], children_of(pid), zygotes_of(pid)
        return (
            # Two children wait for the first call of any module, the others for a call of theirs.
            children["alive"] - children["waiting"] == 2
            and len(living) == children["alive"]
            # One without packages and four with; each has a process outside of its namespaces.
            and len(zygotes) <= 5 * 2
            # A child has its channel, its output and its pidfd; a zygote two processes, its line and its pidfd.
            and descriptors(pid) <= BEFORE[pid] + 3 * len(living) + len(zygotes)
        )

    until(is_settled, "a runner with no more than its children that wait need")


def test_nothing_is_left_in_the_temporary_folder(any_runner: LiveRunner) -> None:
    assert any_runner.process.pid in STARTED
    assert [
        path
        for pid in STARTED
        for path in glob.glob(f"/tmp/toolrack-runner-{pid}-*")
        if not in_use(path, pid)
    ] == []
    assert [folder for folder in FOLDERS if folder.exists()] == []


def in_use(path: str, pid: int) -> bool:
    """Whether it is the folder of the socket of a runner that lives."""
    return path.endswith("-frames") and os.path.exists(f"/proc/{pid}")


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))
