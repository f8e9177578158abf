"""What main holds of one child."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.until import until
from toolrack_runner.child.module.load import CODE_BYTES_MAX
from toolrack_runner.limits import ERROR_CHARS_MAX, EXAMPLES_MAX, SPECS_MAX, TOOL_NAME_CHARS_MAX
from toolrack_runner.server.pool.channel import MESSAGES_MAX
from toolrack_runner.server.pool.worker import Worker
from toolrack_runner.tool_name import is_tool_name
from toolrack_runner.wire import child_messages
from toolrack_runner.wire.frames import encode_frame
from toolrack_runner.wire.zygote_messages import Limits

ROOT = Path(__file__).parents[4] / "python-runner"


def test_a_check_of_the_largest_module_has_messages_enough() -> None:
    assert SPECS_MAX * EXAMPLES_MAX < MESSAGES_MAX


def test_the_bounds_of_messages_are_those_of_the_module_library() -> None:
    assert child_messages.CODE_CHARACTERS_MAX >= CODE_BYTES_MAX / 3 * 4
    assert child_messages.ERROR_CHARACTERS_MAX > 2 * ERROR_CHARS_MAX
    assert is_tool_name("x" * TOOL_NAME_CHARS_MAX)
    assert not is_tool_name("x" * (TOOL_NAME_CHARS_MAX + 1))


def test_main_starts_without_the_library_that_children_work_with() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
        "import toolrack_runner.server.serve, toolrack_runner.server.http.server; "
        "print([name for name in sys.modules if name.startswith(('toolrack_runner.child.', 'toolrack_runner.zygote.'))])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.fixture
def process() -> Iterator["subprocess.Popen[bytes]"]:
    """A process in the place of a child."""
    with subprocess.Popen(["/bin/sleep", "60"]) as started:
        yield started
        started.kill()


def test_a_child_that_speaks_while_it_waits_is_killed(process: "subprocess.Popen[bytes]") -> None:
    async def speak() -> bool:
        worker, ended = Worker(1, 0, Limits()), asyncio.Event()
        worker.born(os.pidfd_open(process.pid))
        asyncio.get_running_loop().add_reader(worker.pidfd, ended.set)
        childs_end = socket.socket(fileno=os.dup(worker.descriptors[0]))
        worker.stop()
        childs_end.sendall(b"\0\0\0\2{}")
        await asyncio.wait_for(ended.wait(), 20)
        asyncio.get_running_loop().remove_reader(worker.pidfd)
        is_alive = worker.is_alive
        childs_end.close()
        worker.reaped(None)
        return is_alive

    assert asyncio.run(speak()) is False
    assert process.wait() == -signal.SIGKILL


def test_a_child_that_is_to_wait_before_main_hears_of_its_birth_is_stopped_then(
    process: "subprocess.Popen[bytes]",
) -> None:
    async def be_born() -> None:
        worker = Worker(1, 0, Limits())
        worker.stop()
        worker.born(os.pidfd_open(process.pid))
        until(lambda: is_stopped(process.pid), "the stop")
        worker.resume()
        until(lambda: not is_stopped(process.pid), "the end of the stop")
        worker.reaped(None)

    asyncio.run(be_born())


def is_stopped(pid: int) -> bool:
    """Whether the kernel says so."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_child_is_asked_for_its_line_when_the_module_runs_and_not_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A child that was just forked would write it to the log of the runner."""
    sent: list[int] = []
    monkeypatch.setattr("toolrack_runner.server.pool.worker._kill", lambda _, number: sent.append(number))

    async def ask() -> None:
        worker = Worker(1, 0, Limits())
        worker.send(child_messages.CallOrder("m", "", None, rehearse=False, network=False))
        assert not worker.ask_where()
        assert sent == []
        with socket.socket(fileno=os.dup(worker.descriptors[0])) as theirs:
            theirs.sendall(encode_frame(child_messages.Starting().as_json()))
        await worker.channel.receive()
        assert worker.ask_where()
        assert sent == [signal.SIGUSR1]
        worker.reaped(None)
        assert not worker.ask_where()

    asyncio.run(ask())
