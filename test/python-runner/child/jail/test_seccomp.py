"""What the kernel makes of the program. The programs of honest tools run in fresh interpreters, as theirs do."""

import ctypes
import errno
import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from child.jail.bpf_interpreter import fill, interpret
from child.jail.forked import fork, in_child
from toolrack_runner.child.jail.hygiene import forbid_new_privileges
from toolrack_runner.child.jail.linux import MACHINE, SYSCALLS, Unavailable, _syscall, syscall
from toolrack_runner.child.jail.seccomp import program as program_module
from toolrack_runner.child.jail.seccomp.compile_policy import ARCHITECTURES, compile_policy
from toolrack_runner.child.jail.seccomp.program import SeccompProgram

RUNNER = Path(__file__).parents[4] / "python-runner"
NOBODY = 65534
MSG_FASTOPEN = 0x20000000
NOT_DONE = {0x00050001, 0x00050016, 0x00050026, 0x0005005F, 0x00050000}

CONFINE = f"""
import sys
sys.path.append({str(RUNNER)!r})
from toolrack_runner.child.jail.hygiene import forbid_new_privileges
from toolrack_runner.child.jail.seccomp.program import SeccompProgram
program = SeccompProgram.prepare()
sys.path.pop()
forbid_new_privileges()
program.apply()
"""

HONEST = {
    "threads": """
        import threading
        seen = []
        threads = [threading.Thread(target=seen.append, args=(number,)) for number in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert len(seen) == 8
    """,
    "a pool of threads": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(abs, range(-9, 0))) == 45
    """,
    "asyncio": """
        import asyncio, os, signal
        async def main():
            caught = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, caught.set)
            os.kill(os.getpid(), signal.SIGUSR1)
            async with asyncio.timeout(5):
                await caught.wait()
                assert await asyncio.gather(asyncio.sleep(0.01, 1), asyncio.to_thread(lambda: 2)) == [1, 2]
        asyncio.run(main())
    """,
    "asyncio over a pair of sockets": """
        import asyncio, socket
        async def main():
            one, other = socket.socketpair()
            reader, kept = await asyncio.open_connection(sock=one)
            also_kept, writer = await asyncio.open_connection(sock=other)
            writer.write(b"line\\n")
            assert await reader.readline() == b"line\\n"
        asyncio.run(main())
    """,
    "the flags that programs send and receive with": """
        import socket
        one, other = socket.socketpair()
        assert one.send(b"line", socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT | socket.MSG_MORE) == 4
        assert one.send(b"more", socket.MSG_NOSIGNAL) == 4
        assert other.recv(4, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"line"
        assert other.recv(8, socket.MSG_WAITALL | socket.MSG_NOSIGNAL) == b"linemore"
        one.send(b".")
        assert socket.recv_fds(other, 1, 1, socket.MSG_CMSG_CLOEXEC)[:2] == (b".", [])
    """,
    "ssl": """
        import ssl
        sent = ssl.MemoryBIO()
        tls = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="example.org")
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            assert sent.read()
    """,
    "sqlite3": """
        import sqlite3, tempfile
        with tempfile.TemporaryDirectory() as folder:
            for mode in ("delete", "wal"):
                with sqlite3.connect(f"{folder}/{mode}.db") as database:
                    database.execute(f"pragma journal_mode={mode}")
                    database.execute("create table t(n)")
                    database.executemany("insert into t values (?)", [(n,) for n in range(100)])
                    assert database.execute("select sum(n) from t").fetchone() == (4950,)
                database.close()
    """,
    "sqlite3 by two threads, with a journal that stays": """
        import sqlite3, tempfile, threading
        with tempfile.TemporaryDirectory() as folder:
            for mode in ("persist", "truncate", "wal"):
                def count(mode=mode):
                    database = sqlite3.connect(f"{folder}/{mode}.db", timeout=20)
                    for _ in range(20):
                        with database:
                            database.execute("begin immediate")
                            database.execute("update t set n = n + 1")
                    database.close()
                with sqlite3.connect(f"{folder}/{mode}.db") as database:
                    assert database.execute(f"pragma journal_mode={mode}").fetchone() == (mode,)
                    database.execute("create table t(n)")
                    database.execute("insert into t values (0)")
                threads = [threading.Thread(target=count) for _ in range(2)]
                [thread.start() for thread in threads]
                [thread.join() for thread in threads]
                assert database.execute("select n from t").fetchone() == (40,), mode
                database.close()
    """,
    "locks and what is to reach a disk": """
        import fcntl, mmap, os, tempfile
        with tempfile.TemporaryFile() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.lockf(file, fcntl.LOCK_EX)
            fcntl.lockf(file, fcntl.LOCK_UN)
            file.truncate(4096)
            os.fsync(file.fileno())
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            with mmap.mmap(file.fileno(), 4096) as mapped:
                mapped[:4] = b"text"
                mapped.flush()
            assert os.pread(file.fileno(), 4, 0) == b"text"
    """,
    "the size of a socket's buffer": """
        import socket
        one, other = socket.socketpair()
        before = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == before
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        assert socket.socket(fileno=other.detach()).family == socket.AF_UNIX
    """,
    "what the C library knows of a thread": """
        import ctypes, threading
        libc = ctypes.CDLL(None)
        libc.pthread_self.restype = ctypes.c_void_p
        def ask():
            attributes = ctypes.create_string_buffer(256)
            seen.append(libc.pthread_getattr_np(ctypes.c_void_p(libc.pthread_self()), attributes))
        seen = []
        ask()
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        assert seen == [0, 0]
    """,
    "temporary files, copies and archives": """
        import os, shutil, tempfile
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as file:
            os.chdir(folder)
            file.write(b"text")
            file.flush()
            shutil.copy(file.name, "a")
            shutil.copy2("a", "b")
            os.mkdir("c")
            os.replace("b", "c/b")
            shutil.copytree("c", "d")
            shutil.move("a", "d/a")
            for kind in ("zip", "gztar"):
                shutil.unpack_archive(shutil.make_archive(f"{folder}/{kind}", kind, "d"), f"from-{kind}")
                assert sorted(os.listdir(f"from-{kind}")) == ["a", "b"]
            shutil.rmtree("d")
            os.chdir("/")
    """,
    "mapped files and private memory": """
        import mmap, tempfile
        with tempfile.TemporaryFile() as file:
            file.truncate(4096)
            with mmap.mmap(file.fileno(), 4096) as mapped:
                mapped[0] = 1
                mapped.flush()
        assert len(mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE)) == 1 << 20
    """,
    "shared libraries and callbacks": """
        import ctypes
        libc = ctypes.CDLL(None)
        numbers = (ctypes.c_int * 3)(3, 1, 2)
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
        libc.qsort(numbers, 3, 4, kind(lambda a, b: a[0] - b[0]))
        assert list(numbers) == [1, 2, 3]
        import _decimal, _sqlite3, _ssl
    """,
    "time zones and decimals": """
        import datetime, decimal, zoneinfo
        assert str(decimal.Decimal(2).sqrt()).startswith("1.414")
        assert zoneinfo.ZoneInfo("UTC").utcoffset(datetime.datetime.now()) == datetime.timedelta(0)
    """,
    "its own signals and timers": """
        import signal, threading, time
        seen = []
        signal.signal(signal.SIGUSR2, lambda *_: seen.append("raised"))
        signal.signal(signal.SIGALRM, lambda *_: seen.append("timer"))
        signal.raise_signal(signal.SIGUSR2)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR2)
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        signal.pause()
        assert seen == ["raised", "raised", "timer"]
    """,
    "what it may know of itself": """
        import os, platform, resource, uuid
        assert os.cpu_count() and os.sched_getaffinity(0) and platform.platform() and uuid.uuid4() and uuid.uuid1()
        assert resource.getrlimit(resource.RLIMIT_CPU) and resource.getrusage(resource.RUSAGE_SELF)
        assert not os.isatty(0)
    """,
    "the whole standard library": """
        import contextlib, sys, warnings
        warnings.simplefilter("ignore")
        left_out = {"_ios_support", "antigravity", "idlelib", "this", "tkinter", "turtle", "turtledemo"}
        for name in sorted(sys.stdlib_module_names - left_out):
            if not name.startswith(("_test", "_tkinter", "_xx")):
                with contextlib.suppress(ModuleNotFoundError):
                    __import__(name)
    """,
}


def run_confined(code: str) -> "subprocess.CompletedProcess[str]":
    text = CONFINE + textwrap.dedent(code) + "\nprint('went well')"
    return subprocess.run(
        [sys.executable, "-I", "-c", text],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def program() -> SeccompProgram:
    prepared = SeccompProgram.prepare()
    if isinstance(prepared, Unavailable):
        pytest.skip(prepared.reason)
    return prepared


@pytest.mark.parametrize("code", HONEST.values(), ids=HONEST)
@pytest.mark.usefixtures("program")
def test_what_honest_tools_use_works(code: str) -> None:
    ended = run_confined(code)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "went well\n", "")


@pytest.mark.usefixtures("program")
def test_a_tool_that_aborts_ends_by_that_signal() -> None:
    assert run_confined("import os; os.abort()").returncode == -signal.SIGABRT


def under(program: SeccompProgram) -> None:
    forbid_new_privileges()
    program.apply()


def test_the_kernel_answers_every_denied_number_as_the_interpreter_does(program: SeccompProgram) -> None:
    assembled = compile_policy(MACHINE)
    # These two no program sees: the kernel kills by SIGILL whoever calls them from elsewhere than a probe of its own.
    unseen = {SYSCALLS.get("uprobe"), SYSCALLS.get("uretprobe")}
    numbers = [
        number for number in (*range(max(SYSCALLS.values()) + 1), 512, 547, 1000) if number not in unseen
    ]

    def call_them(_: int) -> object:
        if os.getuid() == 0:
            os.setresuid(NOBODY, NOBODY, NOBODY)
        code = fill(assembled.code, assembled.holes["own process"], os.getpid())
        under(program)
        wrong, seen = [], 0
        for number in numbers:
            verdict = interpret(code, architecture=ARCHITECTURES[MACHINE], number=number)
            if verdict in NOT_DONE:
                ctypes.set_errno(0)
                answer = (_syscall(number, 0, 0, 0, 0, 0, 0), ctypes.get_errno())
                seen += 1
                code_told = verdict & 0xFFFF
                if answer != ((-1, code_told) if code_told else (0, 0)):
                    wrong.append((number, answer))
        return [wrong, seen > 180]

    assert in_child(call_them) == [[], True]


def test_other_processes_cannot_be_signalled_and_it_itself_can(program: SeccompProgram) -> None:
    parent = os.getpid()

    def try_all(_: int) -> object:
        under(program)
        os.kill(os.getpid(), 0)
        seen = []
        for pid in (parent, 0, -1 * os.getpgrp(), os.getppid()):
            try:
                os.kill(pid, 0)
                seen.append("escaped")
            except OSError as error:
                seen.append(errno.errorcode[error.errno or 0])
        return seen

    assert in_child(try_all) == ["EPERM"] * 4
    assert in_child(try_all) == ["EPERM"] * 4, "the second child has another process id"


def test_a_thread_started_later_is_under_the_program_too(program: SeccompProgram) -> None:
    def try_in_a_thread(_: int) -> object:
        under(program)
        seen: list[str] = []

        def open_a_socket() -> None:
            try:
                socket.socket().close()
                seen.append("escaped")
            except PermissionError:
                seen.append("EPERM")

        thread = threading.Thread(target=open_a_socket)
        thread.start()
        thread.join()
        return seen

    assert in_child(try_in_a_thread) == ["EPERM"]


def test_the_mode_of_a_file_is_said_to_be_changed_and_is_not(program: SeccompProgram, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch(0o640)

    def change(_: int) -> object:
        under(program)
        os.chmod(file, 0o666)
        os.utime(file, (0, 0))
        with file.open() as opened:
            os.chmod(opened.fileno(), 0o666)
        return "said to be done"

    before = file.stat()
    assert in_child(change) == "said to be done"
    assert (file.stat().st_mode, file.stat().st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


def test_a_signal_by_way_of_a_descriptor_is_denied(program: SeccompProgram) -> None:
    import fcntl

    def own_a_pipe(_: int) -> object:
        under(program)
        reading, _writing = os.pipe()
        return fcntl.fcntl(reading, fcntl.F_SETOWN, os.getppid())

    assert in_child(own_a_pipe) == "EPERM"


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_connection_that_the_kernel_would_lead_elsewhere_is_not(
    program: SeccompProgram, family: socket.AddressFamily, host: str
) -> None:
    """What `connect` without waiting leaves behind, when its peer has gone; the broker hands in no such socket."""

    def send_elsewhere(*, confined: bool) -> object:
        with ExitStack() as stack:
            peer, elsewhere = (
                stack.enter_context(socket.create_server((host, 0), family=family)) for _ in range(2)
            )
            end = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            end.setblocking(False)
            assert end.connect_ex(peer.getsockname()) == errno.EINPROGRESS
            gone, _ = peer.accept()
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            gone.close()
            poll = select.poll()
            poll.register(end, 0)
            assert poll.poll(5_000)
            end.setblocking(True)

            def try_twice(_: int) -> object:
                if confined:
                    under(program)
                seen = []
                for _attempt in range(2):
                    try:
                        end.sendto(b"x", MSG_FASTOPEN, elsewhere.getsockname())
                        seen.append("escaped")
                    except OSError as error:
                        seen.append(errno.errorcode[error.errno or 0])
                return seen

            return in_child(try_twice)

    assert send_elsewhere(confined=False) == ["ECONNRESET", "escaped"]
    assert send_elsewhere(confined=True) == ["EPERM", "EPERM"]


@pytest.mark.skipif(MACHINE != "x86_64", reason="only x86_64 has calls of another kind")
def test_a_call_of_the_x32_kind_kills(program: SeccompProgram) -> None:
    def call(_: int) -> object:
        under(program)
        return _syscall(0x40000000 | SYSCALLS["getpid"], 0, 0, 0, 0, 0, 0)

    assert fork(call).code == -signal.SIGSYS


@pytest.mark.skipif(MACHINE != "x86_64", reason="only x86_64 has calls of another kind")
def test_a_call_of_the_32_bit_kind_kills(program: SeccompProgram) -> None:
    # mov eax, 20 (getpid of i386); int 0x80; ret
    machine_code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"

    def make(*, confined: bool) -> int:
        def call(_: int) -> object:
            memory = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            memory.write(machine_code)
            if confined:
                under(program)
            return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()

        return fork(call).code

    if make(confined=False) != 0:
        pytest.skip("this kernel has no 32-bit calls")
    assert make(confined=True) == -signal.SIGSYS


def test_without_no_new_privileges_nobody_is_put_under_it(program: SeccompProgram) -> None:
    def apply_only(_: int) -> object:
        if os.getuid() == 0:
            os.setresuid(NOBODY, NOBODY, NOBODY)
        program.apply()
        return "went well"

    assert in_child(apply_only) == "EACCES"


def test_a_machine_without_a_program_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_module, "SYSCALLS", {})
    monkeypatch.setattr(program_module, "MACHINE", "riscv64")

    assert SeccompProgram.prepare() == Unavailable("there is no seccomp program for this system (riscv64)")


def test_a_kernel_that_refuses_the_program_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *arguments: int) -> int:
        if name == "seccomp":
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return syscall(name, *arguments)

    monkeypatch.setattr(program_module, "syscall", refuse)

    assert SeccompProgram.prepare() == Unavailable("the kernel accepts no seccomp program: Invalid argument")


def test_a_kernel_that_takes_the_program_and_ignores_it_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_module, "syscall", lambda *_: 0)

    assert SeccompProgram.prepare() == Unavailable(
        "the kernel accepts a seccomp program and does not enforce it"
    )
