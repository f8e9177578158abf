"""The frames between the service and a runner on the same machine, over a Unix socket.

A frame is the length of its payload, as an unsigned big-endian number of four bytes, its kind in one byte, and the payload.
`functions/src/platform/runner/frames.ts` is the other side.
"""

from collections.abc import Iterator
from enum import IntEnum

from toolrack_runner.server.http.answer import Answer
from toolrack_runner.server.http.body import BODY_BYTES_MAX, CALL_BYTES_MAX, too_large
from toolrack_runner.server.http.http_error import HttpError

#: The version of the frames that this runner speaks, as the first byte of HELLO.
VERSION = 1
HEADER_BYTES = 5
#: The most bytes of HELLO: the version, and a secret. The secret of a service has 43 characters.
HELLO_BYTES_MAX = 1_024
#: The most bytes of the lines in one EVENT frame, so that the service needs to keep little of a frame that is not complete.
EVENT_BYTES_MAX = 64 << 10


#: The most calls of a BATCH. The service runs eight calls of a dispatch at once.
BATCH_CALLS_MAX = 64


class Kind(IntEnum):
    """The kinds of frames. The service sends HELLO once, and then one request at a time."""

    #: The version in one byte, and the secret of the runner.
    HELLO = 1
    #: One call: the same JSON as the body of `POST /invoke`.
    INVOKE = 2
    #: Several calls: for each, its length in four bytes and its JSON.
    BATCH = 3
    #: The index of a call in two bytes, and whole or partial lines of its events.
    EVENT = 4
    #: The index of a call, its HTTP status, and the seconds until a retry (0 if they are not known) in two bytes each, and
    #: the JSON of its answer.
    ANSWER = 5


class FrameReader:
    """
    Splits the bytes of a connection into frames. Raises HttpError before it keeps a frame that is too large. Before
    `is_trusted` is set, only HELLO is small enough.
    """

    def __init__(self) -> None:
        self.is_trusted = False
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yields the kind and the payload of each frame that `data` completes."""
        if self._held:
            self._held += data
            if not self._is_complete(self._held):
                return
            data = bytes(self._held)
            self._held.clear()
        start = 0
        while self._is_complete(rest := memoryview(data)[start:]):
            end = start + HEADER_BYTES + int.from_bytes(rest[:4], "big")
            yield rest[4], data[start + HEADER_BYTES : end]
            start = end
        self._held += rest

    def _is_complete(self, data: bytearray | memoryview) -> bool:
        if len(data) < HEADER_BYTES:
            return False
        length = int.from_bytes(data[:4], "big")
        if not self.is_trusted and length > HELLO_BYTES_MAX:
            raise not_hello()
        # A call with files for its arguments is large, and never part of a batch.
        bytes_max = CALL_BYTES_MAX if data[4] == Kind.INVOKE else BODY_BYTES_MAX
        if length > bytes_max:
            raise too_large(bytes_max)
        return len(data) >= HEADER_BYTES + length


def calls_in(batch: bytes) -> list[bytes]:
    """The JSON of each call in a BATCH. Raises HttpError if a length is wrong, or if there are too many calls or none."""
    calls: list[bytes] = []
    start = 0
    while start < len(batch):
        end = start + 4 + int.from_bytes(batch[start : start + 4], "big")
        if end > len(batch) or len(calls) == BATCH_CALLS_MAX:
            raise malformed(f"a batch must have 1 to {BATCH_CALLS_MAX} whole calls")
        calls.append(batch[start + 4 : end])
        start = end
    if not calls:
        raise malformed(f"a batch must have 1 to {BATCH_CALLS_MAX} whole calls")
    return calls


def malformed(sentence: str) -> HttpError:
    """The error for frames that break the rules. It ends the connection."""
    return HttpError("REQUEST_MALFORMED", sentence)


def not_hello() -> HttpError:
    """The error for a first frame that is not HELLO, or is longer than any HELLO."""
    return malformed("the first frame of a connection must be HELLO")


def answer_frame(index: int, answer: Answer) -> bytes:
    """The ANSWER to the call with this index."""
    head = index.to_bytes(2, "big") + answer.status.to_bytes(2, "big")
    head += (answer.retry_after_seconds or 0).to_bytes(2, "big")
    return (len(head) + len(answer.body)).to_bytes(4, "big") + b"\5" + head + answer.body


def event_frames(index: int, lines: bytes) -> bytes:
    """The EVENT frames with these lines of the call with this index."""
    parts = [lines[at : at + EVENT_BYTES_MAX] for at in range(0, len(lines), EVENT_BYTES_MAX)]
    head = b"\4" + index.to_bytes(2, "big")
    return b"".join((len(part) + 2).to_bytes(4, "big") + head + part for part in parts)
