"""The images and files that a child sends before its answer. The child may be hostile, so every byte of them is counted.

The bytes stay in base64, as they came and as they are answered. Decoding them is only a check.
"""

from binascii import a2b_base64

import orjson

from toolrack_runner.wire.child_messages import (
    ContentPart,
    ContentPiece,
    MessageTooLargeError,
    ProtocolError,
)
from toolrack_runner.wire.content import CONTENT_BYTES_MAX, CONTENT_PARTS_MAX, PIECE_BYTES


class ContentTooLargeError(MessageTooLargeError):
    """A child sent more images and files than a result may have."""


class MadeContent:
    """The content of one call."""

    def __init__(self) -> None:
        self._parts: list[tuple[ContentPart, list[bytes]]] = []
        self._bytes = 0
        #: How many bytes of the last part have not come yet.
        self._missing = 0

    def hear(self, message: ContentPart | ContentPiece) -> None:
        """Takes the next message. Raises ProtocolError, and ContentTooLargeError before anything above a limit is kept."""
        if isinstance(message, ContentPart):
            self._begin(message)
        else:
            self._add(message.data)

    def json(self) -> bytes | None:
        """All content as a JSON array, None if there is none. Raises ProtocolError if a part is not complete."""
        if self._missing:
            raise ProtocolError("the answer came before all bytes of an image or a file")
        if not self._parts:
            return None
        # All is joined at once, because each joining copies megabytes.
        texts = [b"["]
        for part, pieces in self._parts:
            facts = orjson.dumps({"type": part.type, "mimeType": part.mime_type, "name": part.name})
            texts += [facts[:-1], b',"data":"', *pieces, b'"}', b","]
        texts[-1] = b"]"
        return b"".join(texts)

    def _begin(self, part: ContentPart) -> None:
        if self._missing:
            raise ProtocolError("an image or a file came before all bytes of the one before")
        if len(self._parts) == CONTENT_PARTS_MAX:
            raise ContentTooLargeError(f"more than the {CONTENT_PARTS_MAX} images and files that are allowed")
        if part.size > CONTENT_BYTES_MAX - self._bytes:
            raise ContentTooLargeError(
                f"more than the {CONTENT_BYTES_MAX} bytes of images and files that are allowed"
            )
        self._bytes += part.size
        self._missing = part.size
        self._parts.append((part, []))

    def _add(self, data: str) -> None:
        # A part without bytes has no piece, so a piece always has some.
        expected = min(self._missing, PIECE_BYTES)
        if not expected:
            raise ProtocolError("a piece came that belongs to no image and no file")
        try:
            size = len(a2b_base64(data, strict_mode=True))
        except ValueError:
            raise ProtocolError("a piece of an image or a file is not base64") from None
        if size != expected:
            raise ProtocolError(f"a piece of an image or a file has {size} bytes, and must have {expected}")
        self._missing -= size
        self._parts[-1][1].append(data.encode())
