"""Tools that are connected to what their spec names, by a live runner to a real server."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hostile.uploads import upload
from support.live_runner import LiveRunner, invocation, live_runner
from toolrack_runner.server.pool.call import CONNECTIONS_MAX

FETCH = '''
import asyncio
import http.client
import socket
import urllib.request


def fetch(url: str) -> str:
    """By urllib."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()


async def stream(host: str, port: int) -> str:
    """By asyncio's streams."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
    answer = await reader.read()
    writer.close()
    return answer.decode().rpartition("\\r\\n\\r\\n")[2]


def twice(host: str, port: int) -> str:
    """Over one connection."""
    connection = http.client.HTTPConnection(host, port, timeout=5)
    answers = []
    for _ in range(2):
        connection.request("GET", "/")
        answers.append(connection.getresponse().read().decode())
    return " ".join(answers)


def by_number(host: str, port: int) -> str:
    """To an address, past every name."""
    with socket.create_connection((host, port), timeout=5) as connection:
        return str(connection.getpeername())


def datagram(host: str, port: int) -> str:
    """By UDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        return str(one.sendto(b"x", (host, port)))


TOOL_SPECS = [
    {"name": f"fetches:{handler.__name__}", "description": handler.__doc__, "handler": handler}
    for handler in (fetch, stream, twice, by_number, datagram)
]
'''


class Greeting(BaseHTTPRequestHandler):
    """Says hello, over a connection that stays."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answers."""
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        """Is quiet."""


@contextmanager
def greeting_server() -> Iterator[int]:
    """Its port, on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Greeting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture(scope="module", params=[False, True], ids=["as_started", "as_nobody"])
def connected(request: pytest.FixtureRequest) -> Iterator[tuple[LiveRunner, int]]:
    """A runner whose operator allows loopback, and the port of a server there."""
    if request.param and os.geteuid() != 0:
        pytest.skip("not root: the runner as started is an ordinary user's already")
    environment = {"TOOLRACK_RUNNER_NETWORK_ALLOW": "127.0.0.0/8,::1/128"}
    with greeting_server() as port, live_runner(environment=environment, as_nobody=request.param) as live:
        yield live, port


def test_a_named_host_is_reached_by_what_tools_use(connected: tuple[LiveRunner, int]) -> None:
    live, port = connected
    network = [f"localhost:{port}"]
    for tool, arguments, text in (
        ("fetches:fetch", {"url": f"http://localhost:{port}/"}, "hello"),
        ("fetches:stream", {"host": "localhost", "port": port}, "hello"),
        ("fetches:twice", {"host": "localhost", "port": port}, "hello hello"),
    ):
        for _ in range(2):
            answer = live.invoke(FETCH, tool, arguments, network=network)
            assert answer.get("text") == text, answer


MANY = '''
import socket


def many(host: str, port: int, count: int) -> str:
    """One after the other."""
    for made in range(count):
        try:
            socket.create_connection((host, port), timeout=5).close()
        except OSError as error:
            return f"{made} {error}"
    return str(count)


TOOL_SPECS = [{"name": "many:many", "description": "Connects.", "handler": many}]
'''


def test_a_call_makes_so_many_connections_and_no_more(connected: tuple[LiveRunner, int]) -> None:
    live, _ = connected
    with socket.create_server(("127.0.0.1", 0), backlog=CONNECTIONS_MAX) as server:
        port = server.getsockname()[1]
        for _ in range(2):
            arguments = {"host": "localhost", "port": port, "count": CONNECTIONS_MAX + 1}
            answer = live.invoke(MANY, "many:many", arguments, network=[f"localhost:{port}"])
            assert "256 [Errno 111] a call may make 256 connections" in answer["text"], answer
            for _ in range(CONNECTIONS_MAX):
                server.accept()[0].close()


UNREAD = upload(
    """
def ask(port, count):
    wish = frame({"connect": {"host": "localhost", "port": port}})
    for _ in range(count):
        held = in_the_channel()
        write(wish)
        until = time.monotonic() + 5
        while in_the_channel() == held and time.monotonic() < until:
            time.sleep(0.001)


def in_the_channel():
    import fcntl, struct, termios
    return struct.unpack("i", fcntl.ioctl(channel(), termios.FIONREAD, bytes(4)))[0]


def attack(port: int) -> str:
    ask(port, 100)
    time.sleep(9)
""",
    "attack",
)


def test_connections_that_the_child_does_not_take_do_not_gather(connected: tuple[LiveRunner, int]) -> None:
    live, _ = connected
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        port = server.getsockname()[1]
        for _ in range(2):
            answer = live.invoke(UNREAD, "hostile:attack", {"port": port}, network=[f"localhost:{port}"])
            assert answer["code"] == "RESULT_INVALID", answer
            assert "before the child read what it was sent" in answer["error"]
        server.setblocking(False)
        for _ in range(2):
            server.accept()[0].close()
        with pytest.raises(BlockingIOError):
            server.accept()


def test_another_host_port_address_or_protocol_is_not(connected: tuple[LiveRunner, int]) -> None:
    live, port = connected
    network = [f"localhost:{port}"]
    long = ".".join(["x" * 60, "y" * 60, "example.com"])
    for tool, arguments, reason in (
        ("fetches:fetch", {"url": "http://example.com/"}, "example.com:80 is not in the spec's network"),
        ("fetches:fetch", {"url": f"http://{long}/"}, "] port 80 of this host is not in the spec's network"),
        (
            *("fetches:fetch", {"url": f"http://localhost:{port + 1}/"}),
            f"localhost:{port + 1} is not in the spec's network",
        ),
        ("fetches:by_number", {"host": "127.0.0.1", "port": port}, f"127.0.0.1:{port} is not in the spec's"),
        ("fetches:datagram", {"host": "localhost", "port": port}, "TCP only"),
    ):
        answer = live.invoke(FETCH, tool, arguments, network=network)
        assert answer["code"] == "TOOL_RAISED", answer
        assert reason in answer["error"]
        assert answer["kind"] == "permission"


def test_a_host_that_does_not_answer_is_a_failure_of_the_network(runner: LiveRunner) -> None:
    answer = runner.invoke(
        FETCH, "fetches:fetch", {"url": "http://nowhere.invalid/"}, network=["nowhere.invalid"]
    )
    assert (answer["code"], answer["kind"]) == ("TOOL_RAISED", "network"), answer


def test_a_tool_that_names_no_host_has_no_network(connected: tuple[LiveRunner, int]) -> None:
    live, port = connected
    answer = live.invoke(FETCH, "fetches:fetch", {"url": f"http://localhost:{port}/"})
    assert answer["code"] == "TOOL_RAISED"
    assert "hello" not in str(answer)


NAMES_ITSELF = """
def fetch() -> str:
    \"\"\"Fetches.\"\"\"
    return "a page"
TOOL_SPECS = [
    {"name": "itself:fetch", "handler": fetch, "network": ["api.example.com", "%s"]},
    {"name": "itself:other", "handler": fetch, "network": ["api.example.com"]},
]
"""


@pytest.mark.parametrize("name", ["localhost:9555", "LOCALHOST", "db.localhost:5432", "ip6-localhost"])
def test_a_spec_that_names_the_machine_itself_is_refused_with_the_name_and_the_setting(
    runner: LiveRunner, name: str
) -> None:
    report = runner.check("itself", NAMES_ITSELF % name)
    assert [tool["accepted"] for tool in report["tools"]] == [False, True]
    (fault,) = report["tools"][0]["faults"]
    assert fault["kind"] == "field_invalid"
    assert f"network[1] names '{name}', which is the machine of the runner" in fault["message"]
    assert fault["message"].endswith("TOOLRACK_RUNNER_NETWORK_ALLOW=127.0.0.0/8,::1/128.")


def test_the_setting_in_that_sentence_allows_the_name(connected: tuple[LiveRunner, int]) -> None:
    live, _ = connected
    report = live.check("itself", NAMES_ITSELF % "localhost:9555")
    assert [tool["accepted"] for tool in report["tools"]] == [True, True]


def test_a_name_that_leads_to_a_private_address_is_not_connected_to(runner: LiveRunner) -> None:
    with greeting_server() as port:
        arguments = {"url": f"http://localhost:{port}/"}
        answer = runner.invoke(FETCH, "fetches:fetch", arguments, network=[f"localhost:{port}"])
    assert answer["code"] == "TOOL_RAISED"
    assert (
        "an address that is not public; the operator can allow it with TOOLRACK_RUNNER_NETWORK_ALLOW"
        in answer["error"]
    )


@pytest.mark.parametrize("network", ["localhost", ["http://localhost"], [1], ["a.example"] * 21])
def test_a_network_that_is_no_list_of_hosts_is_refused(runner: LiveRunner, network: object) -> None:
    answer = runner.client.post("/invoke", json=invocation(FETCH, "fetches:fetch", network=network))
    assert answer.status_code == 400
    assert "network must" in answer.json()["error"]["message"]


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1:80", "0x7f000001", "2130706433", "127.1"])
def test_a_call_whose_stored_spec_names_an_address_is_told_whose_fault_it_is(
    runner: LiveRunner, address: str
) -> None:
    """Earlier versions stored such specs. To ask again helps nobody; its author can upload another one."""
    answer = runner.invoke(FETCH, "fetches:fetch", {"url": "http://a/"}, network=["a.example", address])
    assert (answer["outcome"], answer["code"]) == ("failure", "MODULE_BROKEN")
    assert answer["error"] == (
        "the spec of fetches:fetch can't be used, and nothing was run: network[1] is a numeric address, and a tool is "
        "connected to hosts by their names. Write a host name that leads there, such as 'api.example.com' or "
        "'api.example.com:8443', and upload the module again."
    )
