"""A program for packages has bounds, and ends with its caller."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from support.until import until
from toolrack_runner.server.packages.program import TEXT_BYTES_MAX, Bounds, Ended, run_program

ENVIRONMENT = {"LANG": "C.UTF-8"}


def run(code: str, bounds: Bounds, given: bytes = b"") -> Ended:
    """Runs Python code to its end."""
    return asyncio.run(
        run_program([sys.executable, "-I", "-S", "-c", code], ENVIRONMENT, bounds, given=given)
    )


def test_no_file_is_larger_than_the_bound(tmp_path: Path) -> None:
    file = tmp_path / "file"
    ended = run(
        f"open({str(file)!r}, 'wb', buffering=0).write(bytes(100)) == 100 or __import__('sys').exit(3)",
        Bounds(50),
    )
    assert (ended.status, file.stat().st_size) == (3, 50)
    ended = run(f"open({str(file)!r}, 'ab', buffering=0).write(bytes(1))", Bounds(50))
    assert "File too large" in ended.text


def test_memory_and_processor_time_are_bounded() -> None:
    assert "MemoryError" in run("bytes(1 << 30)", Bounds(1 << 20, memory_bytes=512 << 20)).text
    own = Bounds(1 << 20, data_bytes=256 << 20)
    assert "MemoryError" in run("bytes(1 << 29)", own).text
    # A mapped file is not memory of its own.
    assert run("import mmap, sys; mmap.mmap(-1, 1 << 29, mmap.MAP_SHARED)", own) == Ended(0, "")
    assert run("while True: pass", Bounds(1 << 20, cpu_seconds=1)).status < 0


def test_only_the_beginning_of_its_messages_is_kept() -> None:
    ended = run("import os\nfor _ in range(100): os.write(2, b'x' * 4096)", Bounds(1 << 20))
    assert ended == Ended(0, "x" * TEXT_BYTES_MAX)


def test_it_gets_its_input_and_no_variable_of_the_runner() -> None:
    os.environ["SECRET_OF_THE_RUNNER"] = "x"
    try:
        code = "import os, sys\nsys.stderr.write(f'{sys.stdin.read()} {sorted(os.environ)}')"
        assert run(code, Bounds(1 << 20), b"given").text.replace("'LC_CTYPE', ", "") == "given ['LANG']"
    finally:
        del os.environ["SECRET_OF_THE_RUNNER"]


def test_what_it_has_started_ends_when_its_caller_is_cancelled(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    code = (
        "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.fork()\n"
        f"file = os.open({str(file)!r}, os.O_CREAT | os.O_APPEND | os.O_WRONLY)\n"
        "os.write(file, b'%d\\n' % os.getpid())\nsignal.pause()"
    )

    def pids() -> list[int]:
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    async def cancel() -> None:
        command = [sys.executable, "-I", "-S", "-c", code]
        running = asyncio.create_task(run_program(command, ENVIRONMENT, Bounds(1 << 20)))
        await asyncio.to_thread(until, lambda: len(pids()) == 2, "both processes")
        running.cancel()
        await asyncio.wait((running,))
        await asyncio.to_thread(
            until, lambda: not any(Path(f"/proc/{pid}/cwd").exists() for pid in pids()), "their end"
        )

    asyncio.run(cancel())


def test_a_killed_program_is_waited_for_although_its_caller_is_cancelled_twice() -> None:
    async def cancel() -> set["asyncio.Task[Any]"]:
        begun = asyncio.Event()
        command = [
            sys.executable,
            "-I",
            "-S",
            "-c",
            "import sys, signal; print('', file=sys.stderr); signal.pause()",
        ]
        program = run_program(command, ENVIRONMENT, Bounds(1 << 20), on_line=lambda _: begun.set())
        running = asyncio.create_task(program)
        await begun.wait()
        for _ in range(2):
            running.cancel()
            await asyncio.sleep(0)
        await asyncio.wait((running,))
        assert running.cancelled()
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(cancel()) == set()
