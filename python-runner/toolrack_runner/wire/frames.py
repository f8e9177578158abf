"""Frames: how every message to and from a child is written.

A frame is a length, as an unsigned big-endian number of four bytes, and one JSON object of that many bytes in UTF-8. Pickle
is never used, because unpickling executes code of the sender.
"""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

HEADER_BYTES = 4

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode
_read = os.read
_write = os.write


class FrameError(Exception):
    """The other side closed the channel."""


class FrameTooLargeError(Exception):
    """A sender announced a frame that is too large."""


def with_length(payload: bytes) -> bytes:
    """The frame of one JSON object in UTF-8."""
    return len(payload).to_bytes(HEADER_BYTES, "big") + payload


def encode_frame(message: Mapping[str, object]) -> bytes:
    """The bytes of one frame. Lone surrogates, which UTF-8 cannot encode, become question marks."""
    return with_length(_encode(message).encode("utf-8", "replace"))


def write_frame(descriptor: int, message: Mapping[str, object]) -> None:
    """Writes one whole frame to a blocking descriptor."""
    write_bytes(descriptor, encode_frame(message))


def write_bytes(descriptor: int, data: bytes) -> None:
    """Writes all bytes to a blocking descriptor."""
    rest = memoryview(data)
    while rest:
        rest = rest[_write(descriptor, rest) :]


def read_frame(descriptor: int) -> Any:
    """The JSON object of a trusted sender's next frame, of any length. Raises FrameError if the frame ends early."""
    length = int.from_bytes(_read_exactly(descriptor, HEADER_BYTES), "big")
    return _decode(_read_exactly(descriptor, length).decode())


def decode_frame(frame: bytes) -> Any:
    """The JSON object of one whole frame of a trusted sender."""
    return _decode(frame[HEADER_BYTES:].decode())


def _read_exactly(descriptor: int, length: int) -> bytes:
    parts: list[bytes] = []
    missing = length
    while missing:
        part = _read(descriptor, min(missing, 1 << 16))
        if not part:
            raise FrameError("the channel was closed")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


class FrameSplitter:
    """Splits the bytes of a hostile sender into JSON texts. Never stores one that is longer than `bytes_max`."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._held = bytearray()

    @property
    def has_rest(self) -> bool:
        """Whether a frame has arrived only partly."""
        return bool(self._held)

    def clear(self) -> None:
        """Drops what has arrived of a frame that is not complete."""
        self._held.clear()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields each complete JSON text. If one is longer than the limit, raises FrameTooLargeError before it is stored."""
        self._held += data
        while len(self._held) >= HEADER_BYTES:
            length = int.from_bytes(self._held[:HEADER_BYTES], "big")
            if length > self.bytes_max:
                raise FrameTooLargeError
            end = HEADER_BYTES + length
            if len(self._held) < end:
                return
            payload = bytes(self._held[HEADER_BYTES:end])
            del self._held[:end]
            yield payload
