"""Depth is found by the reader itself, exactly, and nothing that is no JSON passes for it."""

import orjson
import pytest

from toolrack_runner.wire.json_depth import READER_LEVELS, TooDeepError, is_deeper, read_json

LEVELS = 100
SIBLINGS = b",".join([b"[]"] * LEVELS)


def nested(levels: int, *, opening: bytes = b"[", closing: bytes = b"]", inner: bytes = b"") -> bytes:
    """JSON with so many levels."""
    return opening * levels + inner + closing * levels


@pytest.mark.parametrize(
    ("opening", "closing", "inner"), [(b"[", b"]", b""), (b'{"a":', b"}", b"1"), (b"[0,", b"]", b"1")]
)
def test_as_many_levels_as_are_allowed_and_not_one_more(opening: bytes, closing: bytes, inner: bytes) -> None:
    allowed = nested(LEVELS, opening=opening, closing=closing, inner=inner)
    one_less = nested(LEVELS - 1, opening=opening, closing=closing, inner=inner)
    # With siblings that are shallow the brackets are more than the levels.
    for data in (allowed, b"[" + SIBLINGS + b"," + one_less + b"]"):
        value = read_json(data, LEVELS)
        assert value == orjson.loads(data)
        assert not is_deeper(value, LEVELS)
    with pytest.raises(TooDeepError):
        read_json(b"[" + allowed + b"]", LEVELS)
    with pytest.raises(TooDeepError):
        read_json(b"[" + SIBLINGS + b"," + allowed + b"]", LEVELS)


def test_the_reader_has_as_many_levels_as_are_counted_on() -> None:
    orjson.loads(nested(READER_LEVELS))
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(nested(READER_LEVELS + 1))


@pytest.mark.parametrize(
    "data",
    [
        SIBLINGS + b"],[" + SIBLINGS,
        SIBLINGS + b"]],[[" + SIBLINGS,
        b"1]," + nested(LEVELS) + b",[1",
        b"1," + nested(LEVELS) + SIBLINGS,
        SIBLINGS + b",1",
        b"]" + b"[]" * LEVELS + b"[",
        b"[" * (LEVELS + 1),
        b"]" * 900 + b"," + b"[" * 900,
        b"1" + b"]" * 900 + b",1," + b"[" * 900 + b"1",
    ],
)
def test_what_is_json_only_inside_of_something_else_is_none(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"more than one value|character|JSON|end of data|column") as raised:
        read_json(data, LEVELS)
    assert not isinstance(raised.value, TooDeepError)
