"""The events of a running call that its caller has not got yet: printed text, the latest progress, and values.

If the caller is slow, only earlier progress is lost. `Output` keeps the printed text. If many values wait, the server
process stops reading the child's channel, so that the generator has to wait.
"""

import codecs
from collections.abc import Callable, Iterator

import orjson

from toolrack_runner.limits import RESULT_DEPTH_MAX
from toolrack_runner.server.pool.worker import Worker
from toolrack_runner.wire.child_messages import MessageTooLargeError, Progress, ProtocolError, Values
from toolrack_runner.wire.json_depth import VALUES_MAX, TooDeepError, is_too_heavy, read_json

#: How many bytes of values may wait for the caller. If there are more, the server process stops reading the child's channel,
#: and the generator has to wait.
WAITING_BYTES_MAX = 64 << 10


class CallEvents:
    """Collects the events of one call. `on_event` is called for each new one, even if earlier ones still wait."""

    def __init__(self, on_event: Callable[[], None], *, with_values: bool) -> None:
        self.with_values = with_values
        self._on_event = on_event
        self._worker: Worker | None = None
        self._position = 0
        #: The printed bytes that were not sent before the call ended. None while the call is running.
        self._rest: bytes | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        #: The progress that waits, and how many of the waiting values came before it.
        self._progress: tuple[Progress, int] | None = None
        self._values: list[bytes] = []
        self._waiting_bytes = 0
        self._values_left = VALUES_MAX
        self._bytes_left = 0

    def begin(self, worker: Worker) -> None:
        """Starts to follow the output of this child. What was printed during the import of its module is an event too."""
        self._worker = worker
        self._bytes_left = worker.limits.output_bytes
        worker.output.on_kept = self._on_event
        if worker.output.length:
            self._on_event()

    def end(self) -> None:
        """Stops following the output. A thread of the tool may print after the answer, but nobody reads this text."""
        if self._worker is not None:
            self._rest = self._worker.output.live(self._position)
            self._worker.output.on_kept = None

    def hear(self, event: Progress | Values) -> None:
        """Takes an event of the child. Raises ProtocolError, and MessageTooLargeError if there are too many values."""
        if isinstance(event, Progress):
            self._progress = event, len(self._values)
        else:
            for text in event.values:
                self._add(text)
        self._on_event()

    def take(self) -> bytes:
        """Returns the waiting events as lines of NDJSON, and forgets them. Empty if there are none."""
        assert self._worker is not None
        with self._worker.channel.timed():
            lines = b"".join(self._lines())
        self._worker.channel.go_on()
        return lines

    def _lines(self) -> Iterator[bytes]:
        assert self._worker is not None
        data = self._worker.output.live(self._position) if self._rest is None else self._rest
        self._position += len(data)
        self._rest = None if self._rest is None else b""
        if text := self._decoder.decode(data):
            yield orjson.dumps({"event": "log", "text": text}) + b"\n"
        values, self._values, self._waiting_bytes = self._values, [], 0
        waiting, self._progress = self._progress, None
        lines = [b'{"event":"value","value":' + value + b"}\n" for value in values]
        if waiting is not None:
            progress, before = waiting
            lines.insert(before, orjson.dumps({"event": "progress", **progress._asdict()}) + b"\n")
        yield from lines

    def _add(self, text: str) -> None:
        assert self._worker is not None
        data = text.encode("utf-8", "replace")
        if is_too_heavy(data):
            raise MessageTooLargeError("a value holds too many values")
        try:
            value = read_json(data, RESULT_DEPTH_MAX)
        except TooDeepError:
            raise ProtocolError("a value is nested too deeply") from None
        except ValueError:
            raise ProtocolError("a value is not JSON") from None
        # The child counts in the same way. Texts are joined to one text, without quotes and escapes, so only their own bytes
        # count.
        self._bytes_left -= len(value.encode()) if isinstance(value, str) else len(data)
        self._values_left -= 1
        if self._bytes_left < 0 or self._values_left < 0:
            raise MessageTooLargeError("the values together are larger than a result may be")
        # JSON may contain line breaks, but each event must be one line.
        line = data.replace(b"\n", b" ")
        self._values.append(line)
        self._waiting_bytes += len(line)
        if self._waiting_bytes > WAITING_BYTES_MAX:
            self._worker.channel.pause()
