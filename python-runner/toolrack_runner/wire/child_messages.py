"""Every message between main and a child, in both directions, with its bounds.

A message is one JSON object in one frame (`frames.py`). Main is trusted, so a child takes its orders as they are. A child is
hostile from the moment when it imports a module, so main reads its messages with `parse_child_message.py` only.
`pool/child_life.py` says when a child may send which message.

A forked child copies each memory page that it touches, so its messages are plain tuples.
"""

import re
from typing import Any, Literal, NamedTuple, TypeAlias, TypeGuard

from toolrack_runner.wire.frames import JsonObject

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
#: Codes that a child may give its own failure; only main gives the others.
CHILD_CODES = frozenset(
    (
        *("MODULE_BROKEN", "TOOL_NOT_FOUND", "ARGUMENTS_INVALID", "TOOL_RAISED", "TOOL_CRASHED"),
        *("RESULT_INVALID", "RESULT_TOO_LARGE", "MEMORY_LIMIT", "DISK_LIMIT"),
    )
)

#: What a message is as JSON.
Json: TypeAlias = dict[str, object]

# Visible ASCII only. `is_host` looks at the dots.
_HOST = re.compile(r"[!-~]+")


class ProtocolError(Exception):
    """A child sent something that is not a message, or a message at the wrong time.

    The text repeats nothing that the child sent.
    """


class MessageTooLargeError(ProtocolError):
    """A child sent more than a message may hold."""


# From main to a child.


class Known(NamedTuple):
    """What an earlier child told main of a module: its compiled code, and where the spec of each tool stands."""

    #: Marshalled, in base64. It was sent before the module's code ran.
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
        known = None if self.known is None else self.known._asdict()
        return {"do": "call", **self._asdict(), "known": known}


class CheckOrder(NamedTuple):
    """Check a module: read it, import it, and run its examples."""

    module: str
    #: The bytes of the file in base64, because they may not be UTF-8.
    source: str

    def as_json(self) -> Json:
        return {"do": "check", **self._asdict()}


class ProbeOrder(NamedTuple):
    """Try harmless forms of attacks. The zygote sends it, before there is any user code."""

    probes: list[str]
    #: The fields of `level.canaries.Canaries`.
    canaries: dict[str, int | str]

    def as_json(self) -> Json:
        return {"do": "probe", **self._asdict()}


class Invocation(NamedTuple):
    """The one call of a child that has imported its module, or is about to."""

    tool: str
    arguments: JsonObject
    context: JsonObject

    def as_json(self) -> Json:
        return self._asdict()


class ConnectReply(NamedTuple):
    """The answer to a Connect. The connected descriptor comes with it, unless it is refused."""

    refused: str | None = None

    def as_json(self) -> Json:
        return self._asdict()


Order: TypeAlias = CallOrder | CheckOrder | ProbeOrder | Invocation | ConnectReply


def read_order(order: dict[str, Any]) -> CallOrder | CheckOrder | ProbeOrder:
    """In the child: its first order, from main or from the zygote."""
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
        return {"failed": self.reason[:REASON_CHARACTERS_MAX]}


class Imports(NamedTuple):
    """What the module is going to import, and its compiled code for the next children; None if it is too large."""

    packages: list[str]
    code: str | None

    def as_json(self) -> Json:
        """Without the packages whose names are too long for them to be installed."""
        packages = [name for name in self.packages if len(name) <= PACKAGE_CHARACTERS_MAX]
        return {"imports": packages[:PACKAGES_MAX], "code": self.code}


class Starting(NamedTuple):
    """The module's code runs from here on: what comes after this message may be the module's own."""

    def as_json(self) -> Json:
        return {"starting": True}


class Ready(NamedTuple):
    """The module is imported, and the child waits for its invocation."""

    #: Where in TOOL_SPECS each tool's spec stands; None from a child that got `Known`, because main has them already.
    places: dict[str, int] | None = None

    def as_json(self) -> Json:
        return {"ready": self.places}


class Connect(NamedTuple):
    """A running tool wants a TCP connection. `connect_wish` makes a valid one."""

    host: str
    port: int

    def as_json(self) -> Json:
        return {"connect": {"host": self.host, "port": self.port}}


class TextResult(NamedTuple):
    """The tool returned a string. How long it may be is the call's limit."""

    text: str

    def as_json(self) -> Json:
        return {"answer": {"text": self.text}}


class JsonResult(NamedTuple):
    """The tool returned something else, which crosses as JSON text: main checks it and passes it on as it is."""

    json: str

    def as_json(self) -> Json:
        return {"answer": {"json": self.json}}


class CallFailure(NamedTuple):
    """The call gave no result, or the module could not be imported."""

    code: str
    error: str

    def as_json(self) -> Json:
        return {"answer": {"code": self.code, "error": self.error[:ERROR_CHARACTERS_MAX]}}


class StageReport(NamedTuple):
    """The report of a check, as far as it has come. `pool/check_report.py` checks what it says."""

    stage: Literal["parsed", "imported", "loaded"]
    report: dict[str, Any]

    def as_json(self) -> Json:
        return {"stage": self.report | {"stage": self.stage}}


class ExampleStarts(NamedTuple):
    """The check runs this example next."""

    tool: str
    #: Its place among the examples of the tool, from 0.
    example: int
    line: int | None = None

    def as_json(self) -> Json:
        return {"stage": {"stage": "running", **self._asdict()}}


class Done(NamedTuple):
    """The check is over, and what it printed is written."""

    def as_json(self) -> Json:
        return {"done": True}


class Sights(NamedTuple):
    """What each probe saw, by its name."""

    saw: dict[str, str]

    def as_json(self) -> Json:
        return {"sights": {name: saw[:REASON_CHARACTERS_MAX] for name, saw in self.saw.items()}}


Answer: TypeAlias = TextResult | JsonResult | CallFailure
ChildMessage: TypeAlias = (
    Failed | Imports | Starting | Ready | Connect | Answer | StageReport | ExampleStarts | Done | Sights
)


def connect_wish(host: object, port: object) -> Connect:
    """In the child: the message for what a tool gives as an address; raises ValueError with a sentence for the tool."""
    name = host.decode("latin-1") if isinstance(host, bytes) else host
    if not is_host(name) or not is_port(port):
        raise ValueError(
            "a connection needs a host name in ASCII, with labels of 1 to 63 characters, and a port from 1 to 65535"
        )
    return Connect(name, port)


def is_host(value: object) -> TypeGuard[str]:
    """Whether it could stand for a host: visible ASCII of at most 253 characters, in labels of 1 to 63."""
    if type(value) is not str or len(value) > HOST_CHARACTERS_MAX or not _HOST.fullmatch(value):
        return False
    return all(0 < len(label) <= LABEL_CHARACTERS_MAX for label in value.removesuffix(".").split("."))


def is_port(value: object) -> TypeGuard[int]:
    """Whether it is the number of a TCP port."""
    return type(value) is int and 1 <= value <= 65_535
