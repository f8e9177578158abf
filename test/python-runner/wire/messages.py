"""Every message of a child, and JSON that is none."""

from base64 import b64encode
from typing import Any
from unicodedata import category

from hypothesis import strategies as st

from toolrack_runner.limits import EXAMPLES_MAX, SPECS_MAX
from toolrack_runner.wire import child_messages as m
from toolrack_runner.wire.content import CONTENT_BYTES_MAX
from toolrack_runner.wire.parse_child_message import SHAPES

#: What crosses has gone through JSON in UTF-8: no lone surrogates.
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)
PLACES = st.dictionaries(TEXT, st.integers(0, SPECS_MAX - 1), max_size=5)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 60), 1 << 60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
HOSTS = st.lists(NAMES, min_size=1, max_size=4).map(".".join)
PART_NAMES = st.text(
    st.characters(codec="utf-8").filter(lambda sign: category(sign) != "Cc"), min_size=1, max_size=20
)
SIZES = st.integers(0, CONTENT_BYTES_MAX)
#: The numbers of calls; most are the first of their child.
CALLS = st.just(0) | st.integers(0, m.REUSE_MAX - 1)

#: Valid messages, by their kind.
MESSAGES: dict[str, st.SearchStrategy[m.ChildMessage]] = {
    "Failed": st.builds(m.Failed, TEXT),
    "Imports": st.builds(
        m.Imports, st.lists(NAMES, max_size=5), st.none() | st.just("AAEC") | st.just("AA==")
    ),
    "Starting": st.just(m.Starting()),
    "Ready": st.builds(m.Ready, st.none() | PLACES, st.booleans()),
    "Connect": st.builds(m.Connect, HOSTS, st.integers(1, 65_535)),
    "Progress": st.builds(m.Progress, st.floats(0, 1) | st.integers(0, 1), TEXT),
    "Values": st.builds(m.Values, st.lists(TEXT, max_size=5)),
    "ContentPart": st.builds(m.ContentPart, st.just("image"), st.just("image/png"), PART_NAMES, SIZES)
    | st.builds(m.ContentPart, st.just("file"), st.sampled_from(("text/csv", "a/b+c")), PART_NAMES, SIZES),
    "ContentPiece": st.builds(
        m.ContentPiece, st.binary(max_size=20).map(lambda data: b64encode(data).decode())
    ),
    "TextResult": st.builds(m.TextResult, TEXT, CALLS),
    "JsonResult": st.builds(m.JsonResult, TEXT, CALLS),
    "CallFailure": st.builds(
        m.CallFailure,
        st.sampled_from(sorted(m.CHILD_CODES)),
        TEXT,
        CALLS,
        st.none() | st.sampled_from(m.FAILURE_KINDS),
    ),
    "Rested": st.builds(m.Rested, CALLS),
    "StageReport": st.builds(
        lambda stage, report: m.StageReport(stage, report | {"stage": stage}),
        st.sampled_from(("parsed", "imported", "loaded")),
        st.dictionaries(TEXT, JSON, max_size=3),
    ),
    "ExampleStarts": st.builds(
        m.ExampleStarts, TEXT, st.integers(0, EXAMPLES_MAX - 1), st.none() | st.integers(1, m.LINES_MAX)
    ),
    "Done": st.just(m.Done()),
    "Sights": st.builds(m.Sights, st.dictionaries(TEXT, TEXT, max_size=3)),
}
ANY_MESSAGE = st.one_of(*MESSAGES.values())
KEYS = st.sampled_from(sorted({key for fields, _ in SHAPES for key in fields} | {"json"}))


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A message with one thing in it changed: replaced, left out, added, renamed or wrapped."""
    return _mutate(draw, draw(ANY_MESSAGE).as_json())


def _mutate(draw: st.DrawFn, value: Any) -> Any:
    ways = ["replace", "wrap"]
    if isinstance(value, dict):
        ways += ["add", *(["inside", "inside", "inside", "leave out", "rename"] if value else [])]
    if isinstance(value, list) and value:
        ways += ["inside", "inside"]
    way = draw(st.sampled_from(ways))
    if way == "replace":
        return draw(JSON)
    if way == "wrap":
        return draw(st.sampled_from(([value], {"answer": value}, {"ready": value}, {"": value})))
    if way == "add":
        return value | {draw(KEYS | TEXT): draw(JSON)}
    if isinstance(value, list):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], _mutate(draw, value[at]), *value[at + 1 :]]
    key = draw(st.sampled_from(sorted(value)))
    rest = {name: each for name, each in value.items() if name != key}
    if way == "leave out":
        return rest
    if way == "rename":
        return rest | {draw(KEYS | TEXT): value[key]}
    return rest | {key: _mutate(draw, value[key])}


#: JSON that a child may have sent, most of it no message.
FORGED = mutated() | JSON | st.dictionaries(KEYS, JSON, max_size=3)
