"""Calls that come as frames: what is answered, what is refused, and who can call."""

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.frames import ANSWER, BATCH, EVENT, INVOKE, call, connected, frame, hear, hear_all, hello
from support.live_runner import NOBODY, LiveRunner, invocation, live_runner
from support.until import until
from toolrack_runner.server.frames import connection as connections
from toolrack_runner.server.frames.connection import Connection
from toolrack_runner.server.frames.door import Door
from toolrack_runner.server.frames.frame import EVENT_BYTES_MAX, event_frames

SOURCE = '''
import os
import socket
import time


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def sleep(seconds: float) -> str:
    """Sleeps."""
    time.sleep(seconds)
    return "awake"


def speak(times: int) -> str:
    """Prints, and waits until somebody has read it."""
    for number in range(times):
        print("word", number, flush=True)
        time.sleep(0.05)
    return "done"


def reach(path: str) -> str:
    """Tries to connect to a socket, by every way that Python has."""
    tried = []
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            with socket.socket(socket.AF_UNIX, kind) as one:
                one.connect(path)
                tried.append("reached")
        except OSError as error:
            tried.append(type(error).__name__)
    return " ".join(tried)


def look(path: str) -> list[str]:
    """Lists a folder."""
    return os.listdir(path)


TOOL_SPECS = [
    {"name": "framed:add", "handler": add},
    {"name": "framed:sleep", "handler": sleep},
    {"name": "framed:speak", "handler": speak},
    {"name": "framed:reach", "handler": reach},
    {"name": "framed:look", "handler": look},
]
'''


def body(tool: str = "add", arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The body of a call."""
    return invocation(SOURCE, f"framed:{tool}", arguments or {"a": 1, "b": 2}, **more)


def has_running(runner: LiveRunner, count: int) -> bool:
    """Whether so many calls run."""
    return bool(runner.health()["calls"]["running"] == count)


def test_a_call_in_a_frame_has_the_answer_that_it_has_over_http(runner: LiveRunner) -> None:
    with connected(runner) as connection:
        connection.sendall(hello(runner.secret) + call(body()))
        heard = hear(connection)
        assert heard
        over_http = runner.invoke(SOURCE, "framed:add", {"a": 1, "b": 2})
        assert (heard.kind, heard.call, heard.status) == (ANSWER, 0, 200)
        assert heard.json.keys() == over_http.keys()
        assert heard.json["value"] == over_http["value"] == 3
        # The connection is kept for the next call.
        connection.sendall(call(body(arguments={"a": 20, "b": 22})))
        again = hear(connection)
        assert again
        assert again.json["value"] == 42


def test_an_error_has_the_status_and_the_body_that_it_has_over_http(runner: LiveRunner) -> None:
    wrong = body() | {"sha256": "short"}
    with connected(runner) as connection:
        connection.sendall(hello(runner.secret) + call(wrong))
        heard = hear(connection)
        over_http = runner.client.post("/invoke", json=wrong)
        assert heard
        assert (heard.status, heard.json) == (over_http.status_code, over_http.json())
        # A call that is refused does not end the connection.
        connection.sendall(call(body()))
        again = hear(connection)
        assert again
        assert again.json["value"] == 3


def test_frames_may_arrive_in_pieces_of_any_size(runner: LiveRunner) -> None:
    with connected(runner) as connection:
        for byte in hello(runner.secret) + call(body()):
            connection.sendall(bytes([byte]))
        heard = hear(connection)
        assert heard
        assert heard.json["value"] == 3


def test_events_come_before_the_answer(runner: LiveRunner) -> None:
    with connected(runner) as connection:
        connection.sendall(hello(runner.secret) + call(body("speak", {"times": 3})))
        lines = b""
        while (heard := hear(connection)) is not None and heard.kind == EVENT:
            lines += heard.payload
        assert heard
        assert heard.json["text"] == "done"
        printed = "".join(json.loads(line)["text"] for line in lines.splitlines())
        assert printed == heard.json["log"]["text"] == "word 0\nword 1\nword 2\n"


@pytest.mark.parametrize(
    ("sent", "status", "sentence"),
    [
        (hello("a secret of sixteen", 2), 400, "HELLO has version 2, and this runner speaks only version 1"),
        (hello("not the secret of it"), 401, "HELLO must have the secret of this runner"),
        (hello(""), 401, "HELLO must have the secret of this runner"),
        (frame(1, b""), 400, "the first frame of a connection must be HELLO"),
        (call({}), 400, "the first frame of a connection must be HELLO"),
        (frame(0, b"\1"), 400, "the first frame of a connection must be HELLO"),
        (frame(1, b"\1" * 2_000), 400, "the first frame of a connection must be HELLO"),
        (b"POST /invoke HTTP/1.1\r\n\r\n", 400, "the first frame of a connection must be HELLO"),
    ],
    ids=["version", "secret", "no secret", "empty", "no hello", "kind", "long", "http"],
)
def test_a_connection_that_begins_wrongly_is_told_why_and_closed(
    runner: LiveRunner, sent: bytes, status: int, sentence: str
) -> None:
    with connected(runner) as connection:
        connection.sendall(sent)
        (heard,) = hear_all(connection)
        assert heard.status == status
        assert heard.json["error"]["message"].startswith(sentence)


@pytest.mark.parametrize(
    ("sent", "status", "sentence"),
    [
        (frame(9, b"{}"), 400, "a frame has kind 9, which is no request"),
        (hello("again"), 400, "a frame has kind 1, which is no request"),
        (call(body("sleep", {"seconds": 600})) + call(body()), 400, "a frame came before the last request"),
        ((12 << 20 | 1).to_bytes(4, "big") + bytes([INVOKE]), 413, "the body has more than 12582912 bytes"),
        ((4 << 20 | 1).to_bytes(4, "big") + bytes([BATCH]), 413, "the body has more than 4194304 bytes"),
    ],
    ids=["unknown kind", "second hello", "two at once", "too long", "a batch too long"],
)
def test_a_frame_that_may_not_come_ends_the_connection_and_its_call(
    runner: LiveRunner, sent: bytes, status: int, sentence: str
) -> None:
    with connected(runner) as connection:
        connection.sendall(hello(runner.secret) + sent)
        (heard,) = hear_all(connection)
        assert heard.status == status
        assert heard.json["error"]["message"].startswith(sentence)
    until(runner.is_idle, "the end of the call")


def test_a_frame_that_is_never_complete_runs_nothing(runner: LiveRunner) -> None:
    with connected(runner) as connection:
        connection.sendall(hello(runner.secret) + call(body())[:-1])
        connection.shutdown(socket.SHUT_WR)
        assert hear_all(connection) == []
    assert runner.is_idle()


def test_a_call_is_ended_when_its_caller_goes(runner: LiveRunner) -> None:
    with connected(runner) as connection:
        connection.sendall(hello(runner.secret) + call(body("sleep", {"seconds": 600}, deadlineMs=600_000)))
        until(lambda: has_running(runner, 1), "the call")
    until(runner.is_idle, "its end")


def test_one_who_stays_is_answered_while_others_go(runner: LiveRunner) -> None:
    with connected(runner) as staying:
        staying.sendall(hello(runner.secret))
        for _ in range(5):
            with connected(runner) as going:
                going.sendall(hello(runner.secret) + call(body("sleep", {"seconds": 600})))
                until(lambda: has_running(runner, 1), "the call")
                staying.sendall(call(body()))
                heard = hear(staying)
                assert heard
                assert heard.json["value"] == 3
            until(runner.is_idle, "its end")


@pytest.mark.parametrize("sent", [b"", b"\0", hello("s" * 20), hello("s" * 20) + b"\0"])
def test_a_connection_without_a_request_is_closed_after_a_time(
    sent: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HELLO_SECONDS", 0.05)
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.05)

    async def wait_for_the_end() -> bytes:
        nobody: Any = None
        door = Door(str(tmp_path / "d"))
        await door.open(nobody, "s" * 20)
        reader, writer = await asyncio.open_unix_connection(door.path)
        writer.write(sent)
        ended = await reader.read()
        writer.close()
        await door.close(0)
        return ended

    assert asyncio.run(wait_for_the_end()) == b""
    assert os.listdir(tmp_path) == []


def test_events_wait_until_the_service_reads() -> None:
    async def send() -> None:
        nobody: Any = None
        connection = Connection(nobody, "s", set())
        transport: Any = type("Transport", (), {"write": lambda *_: None})()
        connection.connection_made(transport)
        connection.pause_writing()
        sending = asyncio.ensure_future(connection._send_events(0, b"{}\n"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not sending.done()
        connection.resume_writing()
        await sending

    asyncio.run(send())


def test_long_lines_go_in_several_frames() -> None:
    frames = event_frames(7, b"x" * EVENT_BYTES_MAX + b"y\n")
    first = (EVENT_BYTES_MAX + 2).to_bytes(4, "big") + b"\4\0\7" + b"x" * EVENT_BYTES_MAX
    assert frames == first + b"\0\0\0\4\4\0\7y\n"


def test_only_the_user_of_the_runner_can_enter_the_folder_of_its_socket(runner: LiveRunner) -> None:
    folder = os.stat(os.path.dirname(runner.socket))
    assert (stat.S_IMODE(folder.st_mode), folder.st_uid) == (0o700, os.geteuid())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_of_the_machine_does_not_reach_it(runner: LiveRunner) -> None:
    program = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    tried = subprocess.run(
        ["/usr/bin/python3", "-I", "-c", program, runner.socket],
        check=False,
        capture_output=True,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )
    assert b"PermissionError" in tried.stderr


@pytest.mark.parametrize("without", [(), ("--without=namespaces",), ("--without=landlock",)])
@pytest.mark.parametrize("as_nobody", [False, True])
def test_no_tool_reaches_it_in_the_jail(without: tuple[str, ...], as_nobody: bool) -> None:
    if as_nobody and os.geteuid() != 0:
        pytest.skip("not root: the other case is an ordinary user's already")
    with live_runner(*without, as_nobody=as_nobody) as live:
        live.health()
        answer = live.invoke(SOURCE, "framed:reach", {"path": live.socket})
        assert set(answer["text"].split()) <= {"PermissionError", "FileNotFoundError"}
        assert live.invoke(SOURCE, "framed:look", {"path": os.path.dirname(live.socket)})["code"] == (
            "TOOL_RAISED"
        )


def test_without_a_socket_calls_come_over_http(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    async def open_one(base: str) -> Door:
        nobody: Any = None
        door = Door(base)
        await door.open(nobody, "s")
        return door

    # The path of a Unix socket may have 107 bytes.
    base = str(tmp_path / ("x" * 100))
    assert asyncio.run(open_one(base)).path is None
    assert os.listdir(tmp_path) == []
    assert asyncio.run(open_one("/no/such/folder/x")).path is None


def test_a_runner_in_the_cloud_has_no_socket() -> None:
    root = Path(__file__).parents[4] / "python-runner"
    environment = {"PATH": "/usr/bin:/bin", "K_SERVICE": "runner", "HOST": "127.0.0.1", "PORT": "0"}
    command = [sys.executable, "-I", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as started:
        assert started.stdout
        line = json.loads(started.stdout.readline())
        started.terminate()
    assert line.keys() == {"listening", "pid"}
