"""Bytes for the channel of a child: valid messages, and what is made of them by changing fields, bytes and lengths."""

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final, get_args

from toolrack_runner.wire import child_messages as m
from toolrack_runner.wire.parse_child_message import SHAPES

#: What a field is replaced by: other types, numbers at the bounds of machines, text that is no text.
STRANGE: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 1.5, 1e308, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**400),
    *(
        "",
        "x",
        "\0",
        "\ud800",
        "\udfff\ud800",
        "é" * 300,
        "x" * 20_001,
        "x" * 70_000,
        "../..",
        "localhost",
        "a..b",
        "." * 254,
    ),
    *("localhost..", "localhost...", ".localhost", "a" * 64, "xn--", "münchen.example"),
    *([], [[]], {}, {"": {}}, [None] * 1_001, {str(number): number for number in range(60)}),
    *(float("nan"), float("inf"), float("-inf")),
)
#: JSON that no value of Python stands for.
RAW: Final = (
    *(
        b"",
        b"null",
        b"[]",
        b"{}",
        b"{",
        b"\x00",
        b"\xff\xfe",
        b"{}{}",
        b" {} ",
        b'{"done":tru',
        b"NaN",
        b"-",
        b"1e999",
    ),
    *(b"[" * 1_000 + b"]" * 1_000, b"[" * 200_000, b'{"a":' * 1_100 + b"1" + b"}" * 1_100),
    *(
        b'{"answer":{"text":"\\ud800"}}',
        b'{"answer":{"json":"\\ud800"}}',
        b'{"answer":{"text":"a"},"answer":{"text":"b"}}',
    ),
    *(b'{"answer":{"json":"NaN"}}', b'{"answer":{"json":"' + b"[" * 5_000 + b'"}}', b'{"done":true}' * 3),
    *(b"[" + b"0," * 600_000 + b"0]", b'{"imports":[],"code":"' + b"A" * 700_000 + b'"}'),
)
_LENGTH: Final = 4
#: The keys of messages.
KEYS: Final = tuple(key for fields, _ in SHAPES for key in fields)


def frame(payload: bytes) -> bytes:
    """A frame with a true length."""
    return len(payload).to_bytes(_LENGTH, "big") + payload


def as_payload(value: object) -> bytes:
    """JSON as Python writes it, with NaN and lone surrogates in it."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = "null"
    return text.encode("utf-8", "surrogatepass")


def valid(random: Random) -> dict[str, Any]:
    """A message of any kind, as a child would write it."""
    kind = random.choice(get_args(m.ChildMessage))
    return _MAKERS[kind](random).as_json()


def _text(random: Random) -> str:
    return random.choice(("", "x", "fuzz:run", "a b", "é", "orjson", "x" * random.randrange(300)))


def _report(random: Random) -> dict[str, Any]:
    tool = {
        "name": "fuzz:run",
        "accepted": True,
        "faults": [],
        "notes": [],
        "examples": [],
        "description": "x",
        "parameters": {"type": "object"},
        "derived": [],
        "annotations": None,
        "timeoutSeconds": None,
        "secrets": [],
        "network": [],
    }
    report = {"ok": True, "faults": [], "notes": [], "imports": [], "missingImports": [], "tools": [tool]}
    stage = random.choice(("parsed", "imported", "loaded"))
    return report | {"stage": stage}


#: A valid message of each kind. One that is missing here fails the first run.
_MAKERS: Final[dict[Any, Callable[[Random], m.ChildMessage]]] = {
    m.Failed: lambda random: m.Failed(_text(random)),
    m.Imports: lambda random: m.Imports([_text(random)], random.choice((None, "AAEC"))),
    m.Starting: lambda random: m.Starting(),
    m.Ready: lambda random: m.Ready(random.choice((None, {}, {"fuzz:run": random.randrange(50)}))),
    m.Connect: lambda random: m.Connect(
        random.choice(("localhost", "LOCALHOST.", "a.example")), random.choice((443, 80, 65_535))
    ),
    m.Progress: lambda random: m.Progress(random.choice((0, 0.5, 1)), _text(random)),
    m.Values: lambda random: m.Values(
        [
            random.choice(("1", "[]", '"x"', "[1,{}]", "\n1", _text(random)))
            for _ in range(random.randrange(4))
        ]
    ),
    m.ContentPart: lambda random: m.ContentPart(
        *random.choice((("image", "image/png", "a.png"), ("file", "text/csv", "é" * 255))),
        random.choice((0, 1, 3, 4, (192 << 10) + 1, 8 << 20)),
    ),
    m.ContentPiece: lambda random: m.ContentPiece(
        random.choice(("", "AA==", "AAA=", "AAAA", "AB==", "AA=A", "A" * (256 << 10)))
    ),
    m.TextResult: lambda random: m.TextResult(_text(random)),
    m.JsonResult: lambda random: m.JsonResult(
        random.choice(("1", "[]", "{", '"x"', "[1,{}]", _text(random)))
    ),
    m.CallFailure: lambda random: m.CallFailure(
        random.choice(sorted(m.CHILD_CODES)), _text(random), kind=random.choice((None, *m.FAILURE_KINDS))
    ),
    m.Rested: lambda random: m.Rested(random.randrange(3)),
    m.StageReport: lambda random: m.StageReport((report := _report(random))["stage"], report),
    m.ExampleStarts: lambda random: m.ExampleStarts("fuzz:run", random.randrange(20), 1),
    m.Done: lambda random: m.Done(),
    m.Sights: lambda random: m.Sights({_text(random): _text(random)}),
}


def changed(random: Random, value: Any) -> Any:
    """One thing in it changed: replaced, left out, added, renamed or wrapped."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        key = random.choice(sorted(value))
        way = random.randrange(6)
        rest = {name: each for name, each in value.items() if name != key}
        if way == 0:
            return rest
        if way == 1:
            return rest | {random.choice((*KEYS, "json", "")): value[key]}
        if way == 2:
            return value | {random.choice((*KEYS, "json", "text", "x")): random.choice(STRANGE)}
        return rest | {key: changed(random, value[key])}
    if isinstance(value, list) and value and random.random() < 0.7:
        at = random.randrange(len(value))
        return [*value[:at], changed(random, value[at]), *value[at + 1 :]]
    if random.random() < 0.1:
        return random.choice(([value], {"answer": value}, {"stage": value}, {"": value}))
    if random.random() < 0.05:
        return nested(value, random.choice((5, 99, 101, 900)))
    return random.choice(STRANGE)


def nested(value: Any, levels: int) -> Any:
    """A value deep in lists."""
    for _ in range(levels):
        value = [value]
    return value


def forged(random: Random) -> bytes:
    """What one write to the channel holds: some frames, true or not."""
    parts = [_one(random) for _ in range(random.choice((1, 1, 1, 2, 3, 20)))]
    if random.random() < 0.02:
        parts = parts[:1] * 1_500
    data = b"".join(parts)
    if random.random() < 0.15:
        data = data[: random.randrange(len(data) + 1)]
    return data


def _one(random: Random) -> bytes:
    way = random.random()
    if way < 0.1:
        return frame(random.choice(RAW))
    message: Any = valid(random)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        message = changed(random, message)
    data = frame(as_payload(message))
    if way < 0.3:
        return _with_bytes_changed(random, data)
    if way < 0.4:
        return (
            random.choice((0, 1, len(data), 2**20, 22 << 20, 2**31, 2**32 - 1)).to_bytes(4, "big")
            + data[_LENGTH:]
        )
    return data


def _with_bytes_changed(random: Random, data: bytes) -> bytes:
    held = bytearray(data)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(held))
        if random.random() < 0.5:
            held[at] = random.randrange(256)
        else:
            held[at:at] = bytes([random.randrange(256)])
    return bytes(held)
