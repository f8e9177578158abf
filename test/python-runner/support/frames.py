"""Speaks frames with a runner, as the service does."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from support.live_runner import LiveRunner

HELLO, INVOKE, BATCH, EVENT, ANSWER = range(1, 6)


class Heard(NamedTuple):
    """A frame of the runner. The status is 0 for events."""

    kind: int
    call: int
    status: int
    payload: bytes

    @property
    def json(self) -> Any:
        """What its payload says."""
        return json.loads(self.payload)


def frame(kind: int, payload: bytes) -> bytes:
    """A whole frame."""
    return len(payload).to_bytes(4, "big") + bytes([kind]) + payload


def hello(secret: str, version: int = 1) -> bytes:
    """The first frame of a connection."""
    return frame(HELLO, bytes([version]) + secret.encode())


def call(body: dict[str, Any]) -> bytes:
    """The frame of one call."""
    return frame(INVOKE, json.dumps(body).encode())


@contextmanager
def connected(runner: LiveRunner) -> Iterator[socket.socket]:
    """A connection on which nothing was sent."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(runner.socket)
        yield connection


def hear(connection: socket.socket) -> Heard | None:
    """The next frame; None if the runner has closed the connection."""
    head = exactly(connection, 5)
    if head is None:
        return None
    payload = exactly(connection, int.from_bytes(head[:4], "big"))
    assert payload is not None
    number = int.from_bytes(payload[:2], "big")
    if head[4] == EVENT:
        return Heard(EVENT, number, 0, payload[2:])
    assert head[4] == ANSWER
    return Heard(ANSWER, number, int.from_bytes(payload[2:4], "big"), payload[6:])


def hear_all(connection: socket.socket) -> list[Heard]:
    """All frames until the runner closes the connection."""
    frames = []
    while (heard := hear(connection)) is not None:
        frames.append(heard)
    return frames


def exactly(connection: socket.socket, count: int) -> bytes | None:
    """So many bytes; None if the connection has ended."""
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            return None
        data += part
    return data
