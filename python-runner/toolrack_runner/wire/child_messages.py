"""Every message between main and a child, in both directions, with its bounds.

A message is one JSON object in one frame (`frames.py`). Main is trusted, so a child takes its orders as they are. A child is
hostile from the moment when it imports a module, so `parse_child_message` accepts only objects of exactly these shapes.
`pool/child_life.py` says when a child may send which message.

The child's side runs in processes that copy each page they touch: a message there is a tuple, written by one function.
"""

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, TypeGuard

#: Where a number below repeats one of the module library, a test compares them: main starts without that library.
TOOLS_MAX = 50
EXAMPLES_MAX = 20
TOOL_NAME_CHARACTERS_MAX = 128
LINES_MAX = 1 << 20
#: Compiled code of 512 KB, in base64.
CODE_CHARACTERS_MAX = ((512 << 10) + 2) // 3 * 4
#: The longest name that a file system has room for; no package with a longer one is installed.
PACKAGE_CHARACTERS_MAX = 255
PACKAGES_MAX = 1_000
#: A traceback of 8,192 characters, and the sentence before it.
ERROR_CHARACTERS_MAX = 20_000
REASON_CHARACTERS_MAX = 500
#: RFC 1035, 2.3.4: a name has 253 characters (and perhaps a dot behind them), a label 63.
HOST_CHARACTERS_MAX = 254
LABEL_CHARACTERS_MAX = 63
PROBES_MAX = 200

#: Codes that a child may give its own failure; every other code is main's to give.
CHILD_CODES = frozenset(
    {
        "MODULE_BROKEN",
        "TOOL_NOT_FOUND",
        "ARGUMENTS_INVALID",
        "TOOL_RAISED",
        "RESULT_INVALID",
        "RESULT_TOO_LARGE",
        "MEMORY_LIMIT",
        "DISK_LIMIT",
        "TOOL_CRASHED",
    }
)

Json: TypeAlias = dict[str, Any]

# Visible ASCII only. The dots are looked at by `is_host`.
_HOST = re.compile(r"[!-~]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


class ProtocolError(Exception):
    """A child sent something that is not a message, or a message at the wrong time.

    The text repeats nothing that the child sent.
    """


class MessageTooLarge(ProtocolError):
    """A child sent more than a message may hold."""


# From main to a child.


class Known(NamedTuple):
    """What main was told of a module by an earlier child: its compiled code, and where the spec of each tool stands."""

    #: Marshalled and in base64; the child sent it before the module's code ran.
    code: str
    places: dict[str, int]


class CallOrder(NamedTuple):
    """Import a module, and then wait for the invocation."""

    module: str
    source: str
    #: None: compile the module, and tell main what the next child should know.
    known: Known | None
    #: Whether to rehearse a call first.
    rehearse: bool
    #: Whether the calls have a network.
    network: bool

    def as_json(self) -> Json:
        """As it crosses."""
        known = None if self.known is None else self.known._asdict()
        return {"do": "call"} | self._asdict() | {"known": known}


class CheckOrder(NamedTuple):
    """Check a module: read it, import it, and run its examples."""

    module: str
    #: The bytes of the file in base64, for they may be no UTF-8.
    source: str

    def as_json(self) -> Json:
        """As it crosses."""
        return {"do": "check"} | self._asdict()


class ProbeOrder(NamedTuple):
    """Try harmless forms of attacks. Sent by the zygote, before there is any user code."""

    probes: list[str]
    #: `level.canaries.Canaries`, as a dict.
    plants: Json

    def as_json(self) -> Json:
        """As it crosses."""
        return {"do": "probe"} | self._asdict()


class Invocation(NamedTuple):
    """The one call of a child that has imported its module, or will have."""

    tool: str
    arguments: Json
    context: Json

    def as_json(self) -> Json:
        """As it crosses."""
        return self._asdict()


class ConnectReply(NamedTuple):
    """The answer to a Connect. The connected descriptor comes with it, unless it is refused."""

    refused: str | None = None

    def as_json(self) -> Json:
        """As it crosses."""
        return {"refused": self.refused}


Order: TypeAlias = CallOrder | CheckOrder | ProbeOrder | Invocation | ConnectReply


def read_order(order: Json) -> CallOrder | CheckOrder | ProbeOrder:
    """In the child: what main, or the zygote, wants of it."""
    match order.pop("do"):
        case "call":
            if order["known"] is not None:
                order["known"] = Known(**order["known"])
            return CallOrder(**order)
        case "check":
            return CheckOrder(**order)
        case _:
            return ProbeOrder(**order)


# From a child to main. The first three come before any code of a module has run.


class Failed(NamedTuple):
    """The child could not be confined, or could not read its order: the runner's fault."""

    reason: str

    def as_json(self) -> Json:
        """As it crosses."""
        return {"failed": self.reason[:REASON_CHARACTERS_MAX]}


class Imports(NamedTuple):
    """What the module is going to import, and its compiled code for the next children; None if it is too large."""

    packages: list[str]
    code: str | None

    def as_json(self) -> Json:
        """As it crosses; packages that cannot be installed are left out."""
        packages = [name for name in self.packages if len(name) <= PACKAGE_CHARACTERS_MAX]
        return {"imports": packages[:PACKAGES_MAX], "code": self.code}


class Starting(NamedTuple):
    """The module's code runs from here on: what comes after this message may be the module's own."""

    def as_json(self) -> Json:
        """As it crosses."""
        return {"starting": True}


class Ready(NamedTuple):
    """The module is imported, and the child waits for its invocation."""

    #: Where in TOOL_SPECS each tool's spec stands; None from a child that got `Known`, because main has them already.
    places: dict[str, int] | None = None

    def as_json(self) -> Json:
        """As it crosses."""
        return {"ready": self.places}


class Connect(NamedTuple):
    """A running tool wants a TCP connection. `connect_wish` makes a valid one."""

    host: str
    port: int

    def as_json(self) -> Json:
        """As it crosses."""
        return {"connect": {"host": self.host, "port": self.port}}


class TextResult(NamedTuple):
    """The tool returned a string. How long it may be is the call's limit."""

    text: str

    def as_json(self) -> Json:
        """As it crosses."""
        return {"answer": {"text": self.text}}


class JsonResult(NamedTuple):
    """The tool returned something else, which crosses as JSON text: main checks it and passes it on as it is."""

    json: str

    def as_json(self) -> Json:
        """As it crosses."""
        return {"answer": {"json": self.json}}


class CallFailure(NamedTuple):
    """The call gave no result, or the module could not be imported."""

    code: str
    error: str

    def as_json(self) -> Json:
        """As it crosses."""
        return {"answer": {"code": self.code, "error": self.error[:ERROR_CHARACTERS_MAX]}}


class StageReport(NamedTuple):
    """The report of a check, as far as it has come. `pool/check_report.py` looks at what it says."""

    stage: Literal["parsed", "imported", "loaded"]
    report: Json

    def as_json(self) -> Json:
        """As it crosses."""
        return {"stage": self.report | {"stage": self.stage}}


class ExampleStarts(NamedTuple):
    """The check runs this example next."""

    tool: str
    #: Its place among the examples of the tool, from 0.
    example: int
    line: int | None = None

    def as_json(self) -> Json:
        """As it crosses."""
        return {"stage": {"stage": "running"} | self._asdict()}


class Done(NamedTuple):
    """The check is over, and what it printed is written."""

    def as_json(self) -> Json:
        """As it crosses."""
        return {"done": True}


class Sights(NamedTuple):
    """What each probe saw, by its name."""

    saw: dict[str, str]

    def as_json(self) -> Json:
        """As it crosses."""
        return {"sights": {name: saw[:REASON_CHARACTERS_MAX] for name, saw in self.saw.items()}}


Answer: TypeAlias = TextResult | JsonResult | CallFailure
ChildMessage: TypeAlias = (
    Failed | Imports | Starting | Ready | Connect | Answer | StageReport | ExampleStarts | Done | Sights
)


def parse_child_message(value: object) -> ChildMessage:
    """The message that a JSON value of a child is; raises ProtocolError for anything else.

    The depth of a report, and what the text of a JsonResult holds, are looked at by who reads them.
    """
    if type(value) is not dict:
        raise ProtocolError("a message is one JSON object")
    for key in value:
        parse = _PARSERS.get(key)
        if parse is not None:
            return parse(value)
    raise ProtocolError("there is no message of this kind")


def connect_wish(host: object, port: object) -> Connect:
    """In the child: the message for what a tool gives as an address; raises ValueError with a sentence for the tool."""
    name = host.decode("latin-1") if isinstance(host, bytes) else host
    if not is_host(name) or not _is_number(port, 1, 65_535):
        raise ValueError(
            "a connection needs a host name in ASCII, with labels of 1 to 63 characters, and a port from 1 to 65535"
        )
    return Connect(name, port)


def is_host(value: object) -> TypeGuard[str]:
    """Whether it could stand for a host: visible ASCII of at most 253 characters, in labels of 1 to 63."""
    if type(value) is not str or len(value) > HOST_CHARACTERS_MAX or not _HOST.fullmatch(value):
        return False
    return all(0 < len(label) <= LABEL_CHARACTERS_MAX for label in value.removesuffix(".").split("."))


def _failed(value: Json) -> Failed:
    if len(value) == 1 and _is_text(reason := value["failed"], REASON_CHARACTERS_MAX):
        return Failed(reason)
    raise ProtocolError("'failed' has another shape")


def _imports(value: Json) -> Imports:
    packages, code = value["imports"], value.get("code")
    if (
        len(value) == 2
        and "code" in value
        and type(packages) is list
        and len(packages) <= PACKAGES_MAX
        and all(_is_text(name, PACKAGE_CHARACTERS_MAX) for name in packages)
        and (code is None or (_is_text(code, CODE_CHARACTERS_MAX) and _BASE64.fullmatch(code)))
    ):
        return Imports(packages, code)
    raise ProtocolError("'imports' has another shape")


def _starting(value: Json) -> Starting:
    if len(value) == 1 and value["starting"] is True:
        return Starting()
    raise ProtocolError("'starting' has another shape")


def _ready(value: Json) -> Ready:
    places = value["ready"]
    if len(value) == 1 and (places is None or _are_places(places)):
        return Ready(places)
    raise ProtocolError("'ready' has another shape")


def _are_places(value: object) -> bool:
    return (
        type(value) is dict
        and len(value) <= TOOLS_MAX
        and all(
            len(name) <= TOOL_NAME_CHARACTERS_MAX and _is_number(place, 0, TOOLS_MAX - 1)
            for name, place in value.items()
        )
    )


def _connect(value: Json) -> Connect:
    wish = value["connect"]
    if (
        len(value) == 1
        and type(wish) is dict
        and len(wish) == 2
        and is_host(host := wish.get("host"))
        and _is_number(port := wish.get("port"), 1, 65_535)
    ):
        return Connect(host, port)
    raise ProtocolError("'connect' has another shape")


def _answer(value: Json) -> Answer:
    answer = value["answer"]
    if len(value) == 1 and type(answer) is dict:
        if len(answer) == 1:
            if type(text := answer.get("json")) is str:
                return JsonResult(text)
            if type(text := answer.get("text")) is str:
                return TextResult(text)
        elif len(answer) == 2:
            code, error = answer.get("code"), answer.get("error")
            if type(code) is str and code in CHILD_CODES and _is_text(error, ERROR_CHARACTERS_MAX):
                return CallFailure(code, error)
    raise ProtocolError("'answer' has another shape")


def _stage(value: Json) -> StageReport | ExampleStarts:
    stage = value["stage"]
    if len(value) == 1 and type(stage) is dict:
        name = stage.get("stage")
        if name in ("parsed", "imported", "loaded"):
            return StageReport(name, stage)
        if name == "running" and len(stage) == 4 and "line" in stage:
            tool, example, line = stage.get("tool"), stage.get("example"), stage["line"]
            if (
                _is_text(tool, TOOL_NAME_CHARACTERS_MAX)
                and _is_number(example, 0, EXAMPLES_MAX - 1)
                and (line is None or _is_number(line, 1, LINES_MAX))
            ):
                return ExampleStarts(tool, example, line)
    raise ProtocolError("'stage' has another shape")


def _done(value: Json) -> Done:
    if len(value) == 1 and value["done"] is True:
        return Done()
    raise ProtocolError("'done' has another shape")


def _sights(value: Json) -> Sights:
    saw = value["sights"]
    if (
        len(value) == 1
        and type(saw) is dict
        and len(saw) <= PROBES_MAX
        and all(_is_text(text, REASON_CHARACTERS_MAX) for pair in saw.items() for text in pair)
    ):
        return Sights(saw)
    raise ProtocolError("'sights' has another shape")


def _is_text(value: object, characters_max: int) -> TypeGuard[str]:
    return type(value) is str and len(value) <= characters_max


def _is_number(value: object, lowest: int, highest: int) -> TypeGuard[int]:
    # A bool is an int to isinstance.
    return type(value) is int and lowest <= value <= highest


#: Each kind of message by the key that it alone has.
_PARSERS: dict[object, Callable[[Json], ChildMessage]] = {
    "answer": _answer,
    "starting": _starting,
    "ready": _ready,
    "connect": _connect,
    "imports": _imports,
    "failed": _failed,
    "stage": _stage,
    "done": _done,
    "sights": _sights,
}
