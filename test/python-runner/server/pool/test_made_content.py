"""What a child says about images and files is counted before it is kept."""

from base64 import b64decode, b64encode
from typing import Any

import orjson
import pytest

from toolrack_runner.server.pool.made_content import ContentTooLargeError, MadeContent
from toolrack_runner.wire.child_messages import ContentPart, ContentPiece, ProtocolError
from toolrack_runner.wire.content import CONTENT_BYTES_MAX, CONTENT_PARTS_MAX, PIECE_BYTES

Heard = ContentPart | ContentPiece


def part(size: int, name: str = "a.png") -> ContentPart:
    """An image of so many bytes."""
    return ContentPart("image", "image/png", name, size)


def piece(data: bytes) -> ContentPiece:
    """The next bytes."""
    return ContentPiece(b64encode(data).decode())


def made(*heard: Heard) -> Any:
    """The JSON after these messages."""
    content = MadeContent()
    for message in heard:
        content.hear(message)
    json = content.json()
    return None if json is None else orjson.loads(json)


def test_without_content_there_is_none() -> None:
    assert made() is None


def test_pieces_are_joined_and_a_part_may_have_no_bytes() -> None:
    large = bytes(range(256)) * 1_024 * 2
    pieces = [piece(large[at : at + PIECE_BYTES]) for at in range(0, len(large), PIECE_BYTES)]
    assert len(pieces) == 3
    heard = made(part(len(large), 'a"\\.png'), *pieces, part(0, "empty.png"), part(1), piece(b"x"))
    assert [b64decode(each["data"]) for each in heard] == [large, b"", b"x"]
    assert heard[0] | {"data": ""} == {
        "type": "image",
        "mimeType": "image/png",
        "name": 'a"\\.png',
        "data": "",
    }


BROKEN: dict[str, tuple[Heard, ...]] = {
    "a piece of nothing": (piece(b"x"),),
    "an empty piece of nothing": (piece(b""),),
    "an empty piece after the last byte": (part(1), piece(b"x"), piece(b"")),
    "a piece without bytes": (part(1), piece(b"")),
    "a piece after the last byte": (part(1), piece(b"x"), piece(b"y")),
    "a piece of an empty part": (part(0), piece(b"y")),
    "a piece with more bytes than were announced": (part(1), piece(b"xy")),
    "a short piece that is not the last": (part(PIECE_BYTES + 1), piece(b"x"), piece(b"x" * PIECE_BYTES)),
    "a part before the end of the one before": (part(2), part(1), piece(b"x")),
    "an answer before the last byte": (part(PIECE_BYTES + 1), piece(b"x" * PIECE_BYTES)),
    "padding in the middle": (part(4), ContentPiece("AA==AAAA")),
    "no base64": (part(3), ContentPiece("A")),
    "a sign between base64": (part(3), ContentPiece('AA"AA')),
    "text that is not ASCII": (part(3), ContentPiece("éééé")),
}


@pytest.mark.parametrize("heard", BROKEN.values(), ids=BROKEN)
def test_what_is_no_content_breaks_the_protocol(heard: tuple[Heard, ...]) -> None:
    with pytest.raises(ProtocolError) as broken:
        made(*heard)
    assert not isinstance(broken.value, ContentTooLargeError)


def test_as_many_parts_as_are_allowed_and_no_more() -> None:
    most = [part(0)] * CONTENT_PARTS_MAX
    assert len(made(*most)) == CONTENT_PARTS_MAX
    with pytest.raises(ContentTooLargeError, match="the 16 images and files"):
        made(*most, part(0))


def test_as_many_bytes_as_are_allowed_and_no_more() -> None:
    pieces = [piece(b"x" * PIECE_BYTES)] * (CONTENT_BYTES_MAX // PIECE_BYTES)
    rest = CONTENT_BYTES_MAX % PIECE_BYTES
    most: tuple[Heard, ...] = (
        part(CONTENT_BYTES_MAX - 1),
        *pieces,
        piece(b"x" * (rest - 1)),
        part(1),
        piece(b"x"),
    )
    assert sum(len(b64decode(each["data"])) for each in made(*most)) == CONTENT_BYTES_MAX
    with pytest.raises(ContentTooLargeError, match="8388608 bytes"):
        made(*most, part(1))
