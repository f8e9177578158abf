"""A connection that was passed in talks to its peer and to nobody else, whatever a tool does with it."""

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.live_runner import LiveRunner, live_runner

MODULE = (Path(__file__).parent / "modules/connections.py").read_text()
ALLOW = {"TOOLRACK_RUNNER_NETWORK_ALLOW": "127.0.0.0/8,::1/128"}
#: Ends a connection by RST instead of FIN.
NO_LINGER = struct.pack("ii", 1, 0)

#: What a tool may be answered, by what it tries; the peer has gone.
DENIED = (
    "fastopen",
    "fastopen_by_number",
    "fastopen_of_a_duplicate",
    "fastopen_after_shutdown",
    "fastopen_from_a_thread",
    "fastopen_of_many",
    "many_with_address",
    "send_with_fastopen",
    "sendto_with_fastopen",
    "sendto_with_address",
    "sendmsg_with_address",
    "send_without_copying",
    "send_without_route",
    "connect_by_number",
    "disconnect_and_connect",
    "connect_by_the_socket",
    "listen",
    "accept",
    "splice_into",
    "TCP_FASTOPEN_CONNECT",
    "TCP_REPAIR",
    "TCP_ULP",
    "TCP_FASTOPEN",
    "SO_BINDTODEVICE",
    "SO_MARK",
    "IP_TRANSPARENT",
)
#: These are let through the filter, and the kernel sends to the peer alone.
TO_THE_PEER = ("write",)


class Peer:
    """The host that the spec names. It goes when it is asked to, by FIN or by RST, and keeps what it reads."""

    def __init__(self, listener: socket.socket) -> None:
        self.port: int = listener.getsockname()[1]
        self.heard = b""
        self._listener = listener
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread that serves."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as read:
                match read.readline():
                    case b"rst\n":
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
                    case b"stay\n":
                        connection.sendall(b".")
                        self.heard = read.read()


class Field:
    """A runner, the peer that a tool may talk to, and what nobody may reach."""

    def __init__(self, live: LiveRunner, stack: ExitStack) -> None:
        self._live = live
        self.peer = Peer(stack.enter_context(socket.create_server(("127.0.0.1", 0))))
        stack.callback(self.peer.close)
        self.forbidden = {}
        for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
            forbidden = stack.enter_context(socket.create_server((host, 0), family=family))
            forbidden.setblocking(False)
            self.forbidden[host] = forbidden

    def attempt(self, name: str, then: str, host: str = "127.0.0.1") -> dict[str, Any]:
        """What a tool is answered that tries it, after its peer stayed or went (`then`)."""
        port = self.peer.port
        arguments = {
            "name": name,
            "peer": "localhost",
            "port": port,
            "then": then,
            "host": host,
            "elsewhere": self.forbidden[host].getsockname()[1],
        }
        return self._live.invoke(
            MODULE, "connections:try_it", arguments, network=[f"localhost:{port}"], deadlineMs=20_000
        )

    def is_reached(self) -> bool:
        """Whether anybody has connected to where nobody may."""
        for forbidden in self.forbidden.values():
            try:
                forbidden.accept()[0].close()
            except BlockingIOError:
                continue
            return True
        return False


@contextmanager
def field_of(*switches: str, as_nobody: bool, **environment: str) -> Iterator[Field]:
    if as_nobody and os.geteuid() != 0:
        pytest.skip("not root: the runner as started is an ordinary user's already")
    with ExitStack() as stack:
        live = stack.enter_context(
            live_runner(*switches, environment=ALLOW | environment, as_nobody=as_nobody)
        )
        yield Field(live, stack)


@pytest.fixture(scope="module", params=["as_started", "as_nobody"])
def who(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["with namespaces", "without namespaces"])
def field(request: pytest.FixtureRequest, who: str) -> Iterator[Field]:
    switches = ["--without=namespaces"] if request.param == "without namespaces" else []
    with field_of(*switches, as_nobody=who == "as_nobody") as field:
        yield field


@pytest.mark.parametrize("then", ["stay", "fin", "rst"])
@pytest.mark.parametrize("name", [*DENIED, "send_file"])
def test_nothing_leads_it_to_another_peer(field: Field, name: str, then: str) -> None:
    answer = field.attempt(name, then)
    assert not field.is_reached()
    # Python sends a file in pieces where the system cannot.
    assert answer.get("text") == ("ENOSYS" if name == "send_file" else "EPERM"), answer


@pytest.mark.parametrize("name", ["fastopen_by_number", "disconnect_and_connect"])
def test_nothing_leads_it_to_an_ipv6_address(field: Field, name: str) -> None:
    answer = field.attempt(name, "rst", "::1")
    assert not field.is_reached()
    assert answer.get("text") == "EPERM", answer


@pytest.mark.parametrize("name", TO_THE_PEER)
def test_what_is_sent_goes_to_the_peer(field: Field, name: str) -> None:
    field.peer.heard = b""
    answer = field.attempt(name, "stay")
    assert not field.is_reached()
    assert answer.get("text") == "through", answer
    assert field.peer.heard == b"attack"


@pytest.mark.parametrize("then", ["fin", "rst"])
@pytest.mark.parametrize("name", TO_THE_PEER)
def test_what_is_sent_to_a_peer_that_has_gone_goes_nowhere(field: Field, name: str, then: str) -> None:
    answer = field.attempt(name, then)
    assert not field.is_reached()
    assert answer.get("text") in {"EPIPE", "ECONNRESET"}, answer


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only x86_64 has calls of the x32 kind")
@pytest.mark.parametrize("name", ["x32_sendmsg", "x32_connect"])
def test_a_call_of_the_x32_kind_ends_the_tool(field: Field, name: str) -> None:
    answer = field.attempt(name, "rst")
    assert not field.is_reached()
    assert answer["code"] == "TOOL_CRASHED", answer


@pytest.mark.parametrize("then", ["stay", "fin", "rst"])
@pytest.mark.parametrize("name", ["fastopen", "fastopen_by_number", "fastopen_of_many"])
def test_without_the_filter_the_kernel_refuses_to_connect_it_again(who: str, name: str, then: str) -> None:
    """The broker has had the kernel note that it is connected."""
    with field_of(
        "--without=seccomp", as_nobody=who == "as_nobody", TOOLRACK_RUNNER_MIN_ISOLATION="L0"
    ) as field:
        answer = field.attempt(name, then)
        assert not field.is_reached()
        assert answer.get("text") == "EISCONN", answer
