"""A child may send each message only at its moment. Main does not accept a message of our own code from a module."""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.quick import examples
from toolrack_runner.server.pool.child_life import ChildLife, Moment
from toolrack_runner.wire import child_messages as m
from toolrack_runner.wire.parse_child_message import SHAPES
from wire.messages import MESSAGES

README = Path(__file__).parents[4] / "python-runner" / "README.md"
Step = m.Order | m.ChildMessage

CALL = m.CallOrder("m", "", None, rehearse=False, network=False)
CALL_WITH_NETWORK = CALL._replace(network=True)
REUSED = CALL._replace(reuse=True)
CHECK = m.CheckOrder("m", "")
INVOCATION = m.Invocation("m:a", {}, {})
STREAMED = INVOCATION._replace(streams=True)
IMPORTS, STARTING, READY = m.Imports([], None), m.Starting(), m.Ready()
TEXT, JSON, BROKEN = m.TextResult(""), m.JsonResult("1"), m.CallFailure("MODULE_BROKEN", "")
RESTED, SECOND = m.Rested(0), INVOCATION._replace(number=1)
OF_SECOND, RESTED_AGAIN = m.TextResult("", 1), m.Rested(1)
PROGRESS, VALUES = m.Progress(0.5, ""), m.Values(["1"])
PART, PIECE = m.ContentPart("image", "image/png", "a.png", 3), m.ContentPiece("AAAA")
CONNECT, REPLY = m.Connect("a.example", 80), m.ConnectReply()
PARSED, IMPORTED, LOADED = (
    m.StageReport(stage, {"stage": stage}) for stage in ("parsed", "imported", "loaded")
)
EXAMPLE, DONE = m.ExampleStarts("m:a", 0), m.Done()
FAILED, SIGHTS = m.Failed(""), m.Sights({})
EVERY_MESSAGE: tuple[m.ChildMessage, ...] = (
    *(FAILED, IMPORTS, STARTING, READY, CONNECT, PROGRESS, VALUES, PART, PIECE, TEXT, JSON, BROKEN),
    *(RESTED, OF_SECOND, RESTED_AGAIN),
    *(PARSED, IMPORTED, LOADED, EXAMPLE, DONE, SIGHTS),
)
#: All that main sends; a ProbeOrder is the zygote's.
EVERY_ORDER: tuple[m.Order, ...] = (CALL, CALL_WITH_NETWORK, CHECK, INVOCATION, STREAMED, REPLY)


def lived(steps: Sequence[Step]) -> ChildLife:
    """A life so far; raises ProtocolError."""
    life = ChildLife()
    for step in steps:
        if isinstance(step, m.Order):
            life.told(step)
        else:
            life.heard(step)
    return life


#: What has happened, the moment that it leads to, and all that the child may say then.
MOMENTS: list[tuple[tuple[Step, ...], Moment, list[m.ChildMessage]]] = [
    ((), Moment.UNTOLD, [FAILED]),
    ((CALL,), Moment.ORDERED, [FAILED, IMPORTS, STARTING, BROKEN]),
    ((CALL, INVOCATION), Moment.ORDERED, [FAILED, IMPORTS, STARTING, BROKEN]),
    ((CALL, IMPORTS), Moment.ANNOUNCED, [FAILED, STARTING]),
    ((CALL, IMPORTS, STARTING), Moment.IMPORTING, [READY, BROKEN]),
    ((CALL_WITH_NETWORK, INVOCATION, STARTING), Moment.IMPORTING, [READY, BROKEN]),
    ((CALL, STARTING, READY), Moment.READY, []),
    ((CALL_WITH_NETWORK, STARTING, READY), Moment.READY, []),
    ((CALL, STARTING, READY, INVOCATION), Moment.CALLED, [PROGRESS, PART, PIECE, TEXT, JSON, BROKEN]),
    (
        (CALL, INVOCATION, IMPORTS, STARTING, READY),
        Moment.CALLED,
        [PROGRESS, PART, PIECE, TEXT, JSON, BROKEN],
    ),
    (
        (CALL_WITH_NETWORK, STARTING, READY, INVOCATION),
        Moment.CALLED,
        [PROGRESS, PART, PIECE, TEXT, JSON, BROKEN, CONNECT],
    ),
    # One wish at a time; another thread of the tool may answer meanwhile.
    (
        (CALL_WITH_NETWORK, INVOCATION, STARTING, READY, CONNECT),
        Moment.CALLED,
        [PROGRESS, PART, PIECE, TEXT, JSON, BROKEN],
    ),
    (
        (CALL_WITH_NETWORK, INVOCATION, STARTING, READY, CONNECT, REPLY),
        Moment.CALLED,
        [PROGRESS, PART, PIECE, TEXT, JSON, BROKEN, CONNECT],
    ),
    ((CALL, STREAMED, STARTING, READY), Moment.CALLED, [PROGRESS, VALUES, PART, PIECE, TEXT, JSON, BROKEN]),
    (
        (CALL, STARTING, READY, STREAMED, PROGRESS),
        Moment.CALLED,
        [PROGRESS, VALUES, PART, PIECE, TEXT, JSON, BROKEN],
    ),
    (
        (CALL, STREAMED, STARTING, READY, VALUES),
        Moment.CALLED,
        [PROGRESS, VALUES, PART, PIECE, TEXT, JSON, BROKEN],
    ),
    ((CALL, STREAMED, STARTING, READY, VALUES, TEXT), Moment.ANSWERED, []),
    ((CALL, INVOCATION, STARTING, READY, TEXT), Moment.ANSWERED, []),
    ((CALL, BROKEN), Moment.ANSWERED, []),
    ((REUSED, STARTING, READY, INVOCATION), Moment.CALLED, [PROGRESS, PART, PIECE, TEXT, JSON, BROKEN]),
    ((REUSED, STARTING, READY, INVOCATION, TEXT), Moment.ANSWERED, [RESTED]),
    ((REUSED, STARTING, READY, INVOCATION, TEXT, RESTED), Moment.RESTED, []),
    (
        (REUSED, STARTING, READY, INVOCATION, TEXT, RESTED, SECOND),
        Moment.CALLED,
        [PROGRESS, PART, PIECE, OF_SECOND],
    ),
    (
        (REUSED, STARTING, READY, INVOCATION, TEXT, RESTED, SECOND, OF_SECOND),
        Moment.ANSWERED,
        [RESTED_AGAIN],
    ),
    ((CHECK,), Moment.READING, [FAILED, PARSED]),
    ((CHECK, PARSED), Moment.READ, [IMPORTED, LOADED]),
    ((CHECK, PARSED, IMPORTED), Moment.EXAMPLES, [EXAMPLE, LOADED]),
    ((CHECK, PARSED, IMPORTED, EXAMPLE), Moment.EXAMPLES, [EXAMPLE, LOADED]),
    ((CHECK, PARSED, LOADED), Moment.LOADED, [DONE]),
    ((CHECK, PARSED, LOADED, DONE), Moment.DONE, []),
    ((FAILED,), Moment.FAILED, []),
    ((CALL, FAILED), Moment.FAILED, []),
]


@pytest.mark.parametrize(("steps", "moment", "allowed"), MOMENTS, ids=[str(each[1]) for each in MOMENTS])
def test_at_each_moment_only_what_belongs_there_is_taken(
    steps: tuple[Step, ...], moment: Moment, allowed: list[m.ChildMessage]
) -> None:
    assert lived(steps).moment is moment
    for message in EVERY_MESSAGE:
        if any(message is each for each in allowed):
            lived((*steps, message))
        else:
            with pytest.raises(m.ProtocolError, match="at the wrong time"):
                lived((*steps, message))


def test_every_moment_is_among_them() -> None:
    assert {moment for _, moment, _ in MOMENTS} == set(Moment)


def test_every_message_is_tried_taken_at_some_moment_and_documented() -> None:
    messages, orders = set(get_args(m.ChildMessage)), set(get_args(m.Order))
    assert set(MESSAGES) == names(messages), "MESSAGES of test/python-runner/wire/messages.py"
    assert {type(each) for each in EVERY_MESSAGE} == messages, "EVERY_MESSAGE above"
    assert {type(each) for each in EVERY_ORDER} == orders - {m.ProbeOrder}, "EVERY_ORDER above"
    keys = {key for fields, _ in SHAPES for key in fields}
    assert {key for each in EVERY_MESSAGE for key in each.as_json()} == keys, "SHAPES"
    taken = {type(each) for _, _, allowed in MOMENTS for each in allowed}
    assert taken == messages - {m.Sights}, "MOMENTS above, and _NEXT of server/pool/child_life.py"
    assert documented("from the server process") == names(orders), (
        "the table 'from the server process' of python-runner/README.md"
    )
    assert documented("from a child") == names(messages), (
        "the table 'from a child' of python-runner/README.md"
    )


def names(kinds: set[type]) -> set[str]:
    """What the classes are called."""
    return {kind.__name__ for kind in kinds}


def documented(title: str) -> set[str]:
    """The names in the first column of the README's table whose first column has this title."""
    _, _, table = README.read_text().partition(f"| {title} |")
    rows = table.partition("\n\n")[0].splitlines()[2:]
    return {name.strip(" `") for row in rows for name in row.split("|")[1].split(",")}


def test_the_code_of_a_module_has_begun_where_something_was_said_of_it() -> None:
    begun = {moment for steps, moment, _ in MOMENTS if lived(steps).has_begun}
    before = {Moment.UNTOLD, Moment.ORDERED, Moment.ANNOUNCED, Moment.READING}
    assert begun == set(Moment) - before


@settings(max_examples=examples(3_000))
@given(st.lists(st.sampled_from((*EVERY_ORDER, *EVERY_MESSAGE)), max_size=12))
def test_no_module_says_what_only_our_own_code_may(steps: list[Step]) -> None:
    life, heard = ChildLife(), []
    for step in steps:
        if isinstance(step, m.Order):
            if life.moment is Moment.UNTOLD or isinstance(step, m.Invocation | m.ConnectReply):
                life.told(step)
            continue
        try:
            life.heard(step)
        except m.ProtocolError:
            break
        heard.append(step)
    from_the_module = next(
        (at for at, each in enumerate(heard) if isinstance(each, m.Starting | m.StageReport)), len(heard)
    )
    assert not any(isinstance(each, m.Failed | m.Imports) for each in heard[from_the_module:])
    assert sum(isinstance(each, m.TextResult | m.JsonResult | m.CallFailure) for each in heard) <= 1
    assert sum(isinstance(each, m.Imports) for each in heard) <= 1
