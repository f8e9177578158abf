"""The child's end of the channel during a call. Any thread of the tool may use it, and every message is written whole."""

import _thread
import time
from binascii import b2a_base64
from collections.abc import Iterable
from contextlib import suppress

from toolrack_runner.child.module.content import Part
from toolrack_runner.wire.child_messages import (
    VALUES_PER_MESSAGE_MAX,
    Answer,
    ChildMessage,
    ContentPart,
    Progress,
    Values,
)
from toolrack_runner.wire.content import PIECE_BYTES
from toolrack_runner.wire.frames import with_length, write_bytes, write_frame

#: The shortest time between two writes of events. The server process would accept more events in a second
#: (`EVENTS_PER_SECOND_MAX` in `server/pool/channel.py`).
EVENT_SECONDS = 0.025
#: If the values that wait have this many characters together, `value` waits until they are sent.
VALUES_CHARACTERS_MAX = 32 << 10

# A module may replace these names.
_monotonic, _start_thread = time.monotonic, _thread.start_new_thread


class CallChannel:
    """Writes messages to the server process.

    The answer and requests for connections are written at once. Events (progress and values) are written at most once in
    EVENT_SECONDS.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = _thread.allocate_lock()
        self._is_answered = False
        #: The progress that waits to be written, and how many of the waiting values were yielded before it.
        self._progress: tuple[Progress, int] | None = None
        self._values: list[str] = []
        self._characters = 0
        #: The earliest time at which the next events may be written.
        self._next = 0.0
        #: Whether there is a thread that will write the next events.
        self._is_coming = False
        #: Locked until the answer is written. Then this thread ends, because a process with a thread serves no other call.
        self._unanswered = _thread.allocate_lock()
        self._unanswered.acquire()

    def say(self, message: ChildMessage) -> None:
        """Writes a message at once."""
        with self._lock:
            write_frame(self._descriptor, message.as_json())

    def answer(self, answer: Answer, content: Iterable[Part] = ()) -> None:
        """Writes the events that still wait, the images and files, and then the answer. Drops all later events."""
        with self._lock:
            self._write()
            self._is_answered = True
            for part in content:
                self._write_part(part)
            write_frame(self._descriptor, answer.as_json())
        self._unanswered.release()

    def progress(self, fraction: float, text: str) -> None:
        """Sends this progress. If a later one comes before this one is written, only the later one is sent.

        Never waits for the lock, because the garbage collector may run a finalizer that calls this method while the same
        thread holds the lock.
        """
        self._progress = Progress(fraction, text), len(self._values)
        self._write_soon()

    def value(self, json: str) -> None:
        """Sends a value of a generator. If values come faster than the server process reads them, waits."""
        with self._lock:
            self._values.append(json)
            self._characters += len(json)
            is_full = len(self._values) >= VALUES_PER_MESSAGE_MAX or self._characters >= VALUES_CHARACTERS_MAX
        if is_full:
            self._write_in_turn()
        else:
            self._write_soon()

    def _write_part(self, part: Part) -> None:
        size = len(part.data)
        write_frame(self._descriptor, ContentPart(part.kind, part.media_type, part.name, size).as_json())
        for at in range(0, size, PIECE_BYTES):
            # The encoder of JSON would look at every character again, and that took as long as all the rest.
            piece = b2a_base64(part.data[at : at + PIECE_BYTES], newline=False)
            write_bytes(self._descriptor, with_length(b'{"piece":"' + piece + b'"}'))

    def _write_soon(self) -> None:
        """Writes the waiting events. If EVENT_SECONDS have not passed yet, another thread writes them later."""
        if _monotonic() >= self._next and self._lock.acquire(blocking=False):
            try:
                self._write()
            finally:
                self._lock.release()
        elif not self._is_coming:
            self._is_coming = True
            try:
                _start_thread(self._write_later, ())
            except RuntimeError:
                # No thread can be started, because the tool has as many as it may have. The next event or the answer writes
                # the waiting events.
                self._is_coming = False

    def _write_later(self) -> None:
        """Runs in a thread of the runner. `threading` does not list it among the threads of the tool."""
        # If the channel is closed, the server process ends this child. This error must not be in the log.
        with suppress(OSError):
            self._write_in_turn()

    def _write_in_turn(self) -> None:
        """Waits until EVENT_SECONDS have passed since the last write, and writes the waiting events."""
        while True:
            if self._unanswered.acquire(timeout=max(self._next - _monotonic(), 0)):
                self._unanswered.release()
            with self._lock:
                if self._is_answered or _monotonic() >= self._next:
                    # Set before the write, so that an event that comes during the write starts a new thread.
                    self._is_coming = False
                    self._write()
                    return

    def _write(self) -> None:
        """Writes the waiting events. The caller holds the lock."""
        progress, self._progress = self._progress, None
        values, self._values = self._values, []
        self._characters = 0
        if self._is_answered or (progress is None and not values):
            return
        before = len(values) if progress is None else progress[1]
        if values[:before]:
            write_frame(self._descriptor, Values(values[:before]).as_json())
        if progress is not None:
            write_frame(self._descriptor, progress[0].as_json())
        if values[before:]:
            write_frame(self._descriptor, Values(values[before:]).as_json())
        self._next = _monotonic() + EVENT_SECONDS
