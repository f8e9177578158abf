"""Calls whose caller wants their events."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from support.live_runner import LiveRunner, invocation

NDJSON = {"Accept": "application/x-ndjson"}
Event = dict[str, Any]


@contextmanager
def streamed(
    runner: LiveRunner, source: str, tool: str, **more: Any
) -> Iterator[tuple[httpx.Response, Iterator[Event]]]:
    """An answer that may be a stream, and its events."""
    body = invocation(source, tool, **more)
    with runner.client.stream("POST", "/invoke", json=body, headers=NDJSON) as answer:
        yield answer, map(json.loads, lines_of(answer.iter_bytes()))


def events_of(runner: LiveRunner, source: str, tool: str, **more: Any) -> list[Event]:
    """All events of a call."""
    with streamed(runner, source, tool, **more) as (answer, events):
        assert answer.headers["content-type"] == "application/x-ndjson", answer.read()
        return list(events)


def of_kind(kind: str, events: list[Event]) -> list[Event]:
    return [event for event in events if event["event"] == kind]


def lines_of(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The lines of an answer. Those of httpx also end at U+2028."""
    rest = b""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        yield from lines
    assert rest == b"", "the answer ends in the middle of a line"
