"""Main takes messages of exactly the shapes that a child writes, and nothing else."""

from typing import Any, get_args

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.quick import examples
from toolrack_runner.wire import child_messages as m
from toolrack_runner.wire.child_messages import ProtocolError, read_order
from toolrack_runner.wire.connect_wish import connect_wish
from toolrack_runner.wire.frames import JsonValue, decode_frame, encode_frame
from toolrack_runner.wire.parse_child_message import parse_child_message
from wire.messages import ANY_MESSAGE, FORGED, MESSAGES


@pytest.mark.parametrize("kind", MESSAGES)
def test_main_reads_each_message_as_the_child_wrote_it(kind: str) -> None:
    @settings(max_examples=examples(100))
    @given(MESSAGES[kind])
    def reads(message: m.ChildMessage) -> None:
        assert type(message).__name__ == kind
        read = parse_child_message(orjson.loads(encode_frame(message.as_json())[4:]))
        assert (type(read), read) == (type(message), message)

    reads()


@settings(max_examples=examples(3_000))
@given(FORGED)
def test_anything_else_breaks_the_protocol_and_nothing_of_it_is_left_out(value: Any) -> None:
    try:
        read = parse_child_message(value)
    except ProtocolError:
        return
    # Whatever main takes is a message whole: no field that nobody has looked at comes with it.
    assert read.as_json() == value


@settings(max_examples=examples(1_000))
@given(ANY_MESSAGE, ANY_MESSAGE)
def test_two_messages_in_one_object_are_none(one: m.ChildMessage, other: m.ChildMessage) -> None:
    both = one.as_json() | other.as_json()
    if both not in (one.as_json(), other.as_json()):
        with pytest.raises(ProtocolError):
            parse_child_message(both)


TOO_MUCH = {
    "a reason": {"failed": "x" * 501},
    "a package that is no text": {"imports": [["x"]], "code": None},
    "a package with a long name": {"imports": ["x" * 256], "code": None},
    "many packages": {"imports": ["x"] * 1_001, "code": None},
    "imports without code": {"imports": []},
    "code that is no base64": {"imports": [], "code": "a b"},
    "much code": {"imports": [], "code": "A" * (m.CODE_CHARACTERS_MAX + 1)},
    "many tools": {"ready": {f"m:{number}": 0 for number in range(51)}},
    "a long name": {"ready": {"x" * 129: 0}},
    "a place behind the last": {"ready": {"m:a": 50}},
    "a place before the first": {"ready": {"m:a": -1}},
    "a place that is true": {"ready": {"m:a": True}},
    "a place with a point": {"ready": {"m:a": 1.0}},
    "a start that is 1": {"starting": 1},
    "a code of main's": {"answer": {"code": "CPU_LIMIT", "error": "no"}},
    "a code in a list": {"answer": {"code": ["TOOL_RAISED"], "error": "no"}},
    "an error": {"answer": {"code": "TOOL_RAISED", "error": "x" * 20_001}},
    "a text and a code": {"answer": {"text": "x", "code": "TOOL_RAISED", "error": "x"}},
    "progress above 1": {"progress": {"fraction": 1.1, "text": ""}},
    "progress below 0": {"progress": {"fraction": -0.1, "text": ""}},
    "progress that is true": {"progress": {"fraction": True, "text": ""}},
    "progress in a text": {"progress": {"fraction": "0.5", "text": ""}},
    "progress without a text": {"progress": {"fraction": 0.5}},
    "progress with much text": {"progress": {"fraction": 0.5, "text": "x" * 1_001}},
    "values that are no list": {"values": "1"},
    "a value that is no text": {"values": [1]},
    "many values": {"values": ["1"] * 201},
    "an image without a name": {
        "content": {"type": "image", "mimeType": "image/png", "name": "", "bytes": 1}
    },
    "an image with a long name": {
        "content": {"type": "image", "mimeType": "image/png", "name": "x" * 256, "bytes": 1}
    },
    "a line break in a name": {
        "content": {"type": "file", "mimeType": "text/csv", "name": "a\nb", "bytes": 1}
    },
    "an image of a type of texts": {
        "content": {"type": "image", "mimeType": "text/html", "name": "a", "bytes": 1}
    },
    "a type with a line break": {
        "content": {"type": "file", "mimeType": "text/csv\r\nX: y", "name": "a", "bytes": 1}
    },
    "a type that is none": {"content": {"type": "file", "mimeType": "csv", "name": "a", "bytes": 1}},
    "a type of an unknown kind": {"content": {"type": "audio", "mimeType": "a/b", "name": "a", "bytes": 1}},
    "fewer bytes than none": {"content": {"type": "file", "mimeType": "a/b", "name": "a", "bytes": -1}},
    "more bytes than content may have": {
        "content": {"type": "file", "mimeType": "a/b", "name": "a", "bytes": (8 << 20) + 1}
    },
    "a number of bytes with a point": {
        "content": {"type": "file", "mimeType": "a/b", "name": "a", "bytes": 1.0}
    },
    "content with a path": {
        "content": {"type": "file", "mimeType": "a/b", "name": "a", "bytes": 1, "path": "/etc/passwd"}
    },
    "a piece that is no base64": {"piece": "a b"},
    "a large piece": {"piece": "A" * ((256 << 10) + 4)},
    "a piece in a list": {"piece": ["AAAA"]},
    "port 0": {"connect": {"host": "a.example", "port": 0}},
    "port 65536": {"connect": {"host": "a.example", "port": 65_536}},
    "port true": {"connect": {"host": "a.example", "port": True}},
    "a port in a text": {"connect": {"host": "a.example", "port": "80"}},
    "an example behind the last": {"stage": {"stage": "running", "tool": "m:a", "example": 20, "line": 1}},
    "an example of no number": {"stage": {"stage": "running", "tool": "m:a", "example": [0], "line": 1}},
    "line 0": {"stage": {"stage": "running", "tool": "m:a", "example": 0, "line": 0}},
    "a stage that is a list": {"stage": {"stage": ["parsed"]}},
    "a stage of its own": {"stage": {"stage": "later"}},
    "a long sight": {"sights": {"probe": "x" * 501}},
    "many sights": {"sights": {str(number): "" for number in range(201)}},
}


@pytest.mark.parametrize("value", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_bound_that_is_broken_breaks_the_protocol(value: object) -> None:
    with pytest.raises(ProtocolError):
        parse_child_message(value)


HOSTS_OF_NO_KIND = [
    "",
    ".",
    "a..b",
    ".a",
    "a...",
    "a b",
    "a\n",
    "x" * 64,
    "\ud800",
    "xn--\x00",
    "münchen.example",
    "\u212a.example",  # The Kelvin sign, whose lower case is k.
    ".".join(["x" * 63] * 4) + ".xx",
]


@pytest.mark.parametrize("host", [*HOSTS_OF_NO_KIND, 1, None, ["a"]], ids=ascii)
def test_what_is_no_host_is_asked_for_by_no_child_and_taken_by_no_main(host: object) -> None:
    with pytest.raises(ProtocolError):
        parse_child_message({"connect": {"host": host, "port": 80}})
    with pytest.raises(ValueError, match="a connection needs a host name"):
        connect_wish(host, 80)


@pytest.mark.parametrize(
    "host", ["a", "A.example.", "127.0.0.1", "::1", "a_b.example", ".".join(["x" * 63] * 3)]
)
def test_a_host_that_there_could_be_is_asked_for(host: str) -> None:
    wish = connect_wish(host, 443)
    assert parse_child_message(wish.as_json()) == wish
    assert connect_wish(host.encode(), 443) == wish


ORDERS = [
    m.CallOrder("m", "x = 1", None, rehearse=True, network=False),
    m.CallOrder("m", "x = 1", m.Known("AAEC", {"m:a": 0}), rehearse=False, network=True),
    m.CallOrder("m", {"__init__.py": "x = 1"}, None, rehearse=True, network=False),
    m.CheckOrder("m", "eCA9IDE="),
    m.CheckOrder("m", "eCA9IDE=", this_machine=True),
    m.CheckOrder("m", {"__init__.py": "eCA9IDE=", "a/b.txt": ""}),
    m.ProbeOrder(["one", "two"], {"victim": 1}),
]


def test_every_order_that_begins_a_life_is_among_them() -> None:
    assert {type(order) for order in ORDERS} == set(get_args(m.Order)) - {m.Invocation, m.ConnectReply}


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: type(order).__name__)
def test_a_child_reads_each_order_as_main_wrote_it(order: m.CallOrder | m.CheckOrder | m.ProbeOrder) -> None:
    assert read_order(decode_frame(encode_frame(order.as_json()))) == order


@given(
    st.text(st.characters(codec="utf-8")),
    st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers()),
)
def test_a_child_reads_an_invocation_and_a_reply_as_main_wrote_them(
    text: str, arguments: dict[str, JsonValue]
) -> None:
    for written in (m.Invocation(text, arguments, {}), m.ConnectReply(), m.ConnectReply(text)):
        assert type(written)(**decode_frame(encode_frame(written.as_json()))) == written
