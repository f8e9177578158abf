"""Frames: JSON objects with their length in front, the only thing that crosses a wall between processes.

A frame is four bytes, the length of what follows as an unsigned big-endian number, and one JSON object in UTF-8. Nothing
is ever pickled: unpickling executes what the sender wrote.
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
    """A sender announced a frame above the bound."""


def with_length(payload: bytes) -> bytes:
    """The frame of one JSON object in UTF-8."""
    return len(payload).to_bytes(HEADER_BYTES, "big") + payload


def encode_frame(message: Mapping[str, object]) -> bytes:
    """The bytes of one frame. Lone surrogates, which UTF-8 cannot hold, become question marks."""
    return with_length(_encode(message).encode("utf-8", "replace"))


def write_frame(descriptor: int, message: Mapping[str, object]) -> None:
    """Writes one whole frame to a blocking descriptor."""
    rest = memoryview(encode_frame(message))
    while rest:
        rest = rest[_write(descriptor, rest) :]


def read_frame(descriptor: int) -> Any:
    """The JSON object of the next frame of a blocking descriptor; raises FrameError where the frame ends early.

    Only for a trusted sender: the frame may be of any length.
    """
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
    """Cuts what a hostile sender wrote into payloads, and never holds more than `bytes_max` of one."""

    def __init__(self, bytes_max: int) -> None:
        #: What a payload may have from now on.
        self.bytes_max = bytes_max
        self._held = bytearray()

    @property
    def has_rest(self) -> bool:
        """Whether bytes have come that are no whole frame yet."""
        return bool(self._held)

    def clear(self) -> None:
        """Lets go of what is held: nothing more of this sender is of use."""
        self._held.clear()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields each payload that is whole now; raises FrameTooLargeError before one above the bound is held."""
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
