"""Frames: JSON objects with their length in front, the only thing that crosses a wall between processes.

A frame is four bytes, the length of what follows as an unsigned big-endian number, and one JSON object in UTF-8. Nothing
is ever pickled: unpickling executes what the sender wrote.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

HEADER_BYTES = 4

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode
_read = os.read
_write = os.write


class FrameError(Exception):
    """The other side closed the channel or sent what is not a frame."""


def encode_frame(message: dict[str, Any]) -> bytes:
    """The bytes of one frame. Lone surrogates, which UTF-8 can't hold, become question marks."""
    payload = _encode(message).encode("utf-8", "replace")
    return len(payload).to_bytes(HEADER_BYTES, "big") + payload


def write_frame(descriptor: int, message: dict[str, Any]) -> None:
    """Writes one whole frame to a blocking descriptor."""
    rest = memoryview(encode_frame(message))
    while rest:
        rest = rest[_write(descriptor, rest) :]


def read_frame(descriptor: int) -> dict[str, Any]:
    """Reads one whole frame from a blocking descriptor of a trusted sender; raises FrameError where it ends early."""
    length = int.from_bytes(_read_exactly(descriptor, HEADER_BYTES), "big")
    message: dict[str, Any] = _decode(_read_exactly(descriptor, length).decode())
    return message


def decode_frame(frame: bytes) -> dict[str, Any]:
    """The message of one whole frame of a trusted sender."""
    message: dict[str, Any] = _decode(frame[HEADER_BYTES:].decode())
    return message


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
    """Cuts what a hostile sender wrote into payloads, without ever holding more than `bytes_max` of one."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._held = bytearray()

    @property
    def has_rest(self) -> bool:
        """Whether bytes have come that are no whole frame yet."""
        return bool(self._held)

    def take_at_most(self, bytes_max: int) -> None:
        """From now on a payload may have so many bytes."""
        self._bytes_max = bytes_max

    def clear(self) -> None:
        """Lets go of what is held: nothing more of this sender is of use."""
        self._held.clear()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields each payload that is whole now; raises FrameTooLarge before one above the bound is held."""
        self._held += data
        while len(self._held) >= HEADER_BYTES:
            length = int.from_bytes(self._held[:HEADER_BYTES], "big")
            if length > self._bytes_max:
                raise FrameTooLarge(length)
            end = HEADER_BYTES + length
            if len(self._held) < end:
                return
            payload = bytes(self._held[HEADER_BYTES:end])
            del self._held[:end]
            yield payload


class FrameTooLarge(Exception):
    """A sender announced a frame above the bound."""

    def __init__(self, length: int) -> None:
        super().__init__(f"a frame of {length} bytes")
        self.length = length
