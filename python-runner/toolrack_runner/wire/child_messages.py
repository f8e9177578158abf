"""Every message between the server process and a child, in both directions, with its bounds.

A message is one JSON object in one frame (`frames.py`). A child trusts the server process and does not check its orders.
The server process never trusts a child, because the child imports a module. The server process reads the child's messages
only with `parse_child_message.py`. `server/pool/child_life.py` defines which message a child may send at which moment.

Messages are plain tuples, because other objects would use more memory pages. A forked child copies each page that it writes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from toolrack_runner.wire.frames import JsonObject

#: The highest line number in a message. A source of 256 KB has fewer lines.
LINES_MAX = 1 << 20
#: The most characters of compiled code: 512 KB in base64.
CODE_CHARACTERS_MAX = ((512 << 10) + 2) // 3 * 4
#: The most characters of a package name. File systems allow no longer file names.
PACKAGE_CHARACTERS_MAX = 255
#: How many imports of a module a message names, so that it stays small.
PACKAGES_MAX = 1_000
#: The most characters of an error: enough for a traceback of 8,192 and the sentence before it.
ERROR_CHARACTERS_MAX = 20_000
#: The most characters of a reason. The rest is cut, because a reason is only for a log or an error.
REASON_CHARACTERS_MAX = 500
#: How many probes a message reports, so that it stays small.
PROBES_MAX = 200
#: The most characters of a text about the progress of a call: enough for a sentence.
PROGRESS_CHARACTERS_MAX = 1_000
#: How many values of a generator one message may contain, so that they take little time of the server process.
VALUES_PER_MESSAGE_MAX = 200
#: How many calls a module may let one process serve, and how many `reuse: True` means.
REUSE_MAX = 1_000
REUSE_USUAL = 100
#: The error codes that a child may send. All others are only used by the server process.
CHILD_CODES = frozenset(
    (
        *("MODULE_BROKEN", "TOOL_NOT_FOUND", "ARGUMENTS_INVALID", "TOOL_RAISED", "TOOL_CRASHED"),
        *("RESULT_INVALID", "RESULT_TOO_LARGE", "MEMORY_LIMIT", "DISK_LIMIT"),
    )
)

#: The kinds of exceptions that a child may name.
FailureKind: TypeAlias = Literal["timeout", "permission", "network"]
FAILURE_KINDS: tuple[FailureKind, ...] = ("timeout", "permission", "network")

Json: TypeAlias = dict[str, object]
#: A module's source as the server process has it: the text of its one file, or the texts of its files by their paths.
SourceText: TypeAlias = str | dict[str, str]


class ProtocolError(Exception):
    """A child sent something that is no message, or a message at the wrong time. The text repeats nothing that was sent."""


class MessageTooLargeError(ProtocolError):
    """A child sent a message that is too large."""


# From the server process to a child.


class Known(NamedTuple):
    """What the server process has learned about a module from an earlier child."""

    #: The compiled code, marshalled, in base64. The child sent it before the module's code ran.
    code: str
    #: The index of each tool's spec in TOOL_SPECS.
    places: dict[str, int]
    #: Whether the arguments of a tool are converted. If so, the child prepares the conversion before it is ready.
    converts: bool = False


class CallOrder(NamedTuple):
    """Orders a child to import a module, and then to wait for the invocation."""

    module: str
    source: SourceText
    #: If None, the child compiles the module, and sends the values of `Known` for the next child.
    known: Known | None
    #: Whether the child first runs a call of the runner's own module.
    rehearse: bool
    #: Whether the call may use the network.
    network: bool
    #: Whether more calls may follow the first one. Then the child says after each answer that it has rested.
    reuse: bool = False

    def as_json(self) -> Json:
        known = None if self.known is None else self.known._asdict()
        return {"do": "call", **self._asdict(), "known": known}


class CheckOrder(NamedTuple):
    """Orders a child to check a module: to read it, to import it, and to run its examples."""

    module: str
    #: The file in base64, because it may not be UTF-8; or several files in base64 by their paths.
    source: SourceText
    #: Whether a spec may name the machine of the runner in its `network`.
    this_machine: bool = False

    def as_json(self) -> Json:
        return {"do": "check", **self._asdict()}


class ProbeOrder(NamedTuple):
    """Orders a child to try attacks in a harmless form. Only the zygote sends it, before any user code runs."""

    probes: list[str]
    #: The fields of `wire.canaries.Canaries`.
    canaries: dict[str, int | str]

    def as_json(self) -> Json:
        return {"do": "probe", **self._asdict()}


class Invocation(NamedTuple):
    """A call that a child runs. The only one may come while the child is still importing its module."""

    tool: str
    arguments: JsonObject
    context: JsonObject
    #: Whether the child sends each value of a generator at once.
    streams: bool = False
    #: How many calls the child has served before. Its answer has the same number.
    number: int = 0
    #: The files for the arguments. Each has a `pointer` (a JSON Pointer into the arguments), a `name`, and `data` in base64.
    attached: Sequence[Mapping[str, str]] = ()

    def as_json(self) -> Json:
        fields = self._asdict()
        if not self.attached:
            del fields["attached"]  # Most calls have none.
        return fields


class ConnectReply(NamedTuple):
    """The answer to a Connect. A connected descriptor comes with it, or `refused` says why there is none."""

    refused: str | None = None
    #: Whether the tool may not connect to the host at all.
    denied: bool = False

    def as_json(self) -> Json:
        return self._asdict()


Order: TypeAlias = CallOrder | CheckOrder | ProbeOrder | Invocation | ConnectReply


def read_order(order: dict[str, Any]) -> CallOrder | CheckOrder | ProbeOrder:
    """Reads the first order of a child, from the server process or from the zygote. Runs in the child."""
    match order.pop("do"):
        case "call":
            if order["known"] is not None:
                order["known"] = Known(**order["known"])
            return CallOrder(**order)
        case "check":
            return CheckOrder(**order)
        case _:
            return ProbeOrder(**order)


# From a child to the server process. Failed, Imports and Starting are sent before any code of a module has run.


class Failed(NamedTuple):
    """The child could not be confined, or could not read its order: the runner's fault."""

    reason: str

    def as_json(self) -> Json:
        return {"failed": self.reason[:REASON_CHARACTERS_MAX]}


class Imports(NamedTuple):
    """What a module imports, and its compiled code for later children. `code` is None if it is too large."""

    packages: list[str]
    code: str | None

    def as_json(self) -> Json:
        """Leaves out names that no installed package can have, because they are too long."""
        packages = [name for name in self.packages if len(name) <= PACKAGE_CHARACTERS_MAX]
        return {"imports": packages[:PACKAGES_MAX], "code": self.code}


class Starting(NamedTuple):
    """Says that the code of the module starts now. The module may have written every message that follows."""

    def as_json(self) -> Json:
        return {"starting": True}


class Ready(NamedTuple):
    """The module is imported, and the child waits for its invocation."""

    #: The index of each tool's spec in TOOL_SPECS. None if the child got `Known`, because the server process then has the
    #: indexes already.
    places: dict[str, int] | None = None
    #: Whether the arguments of a tool are converted, so that the next children need pydantic.
    converts: bool = False

    def as_json(self) -> Json:
        return {"ready": self.places, "converts": self.converts}


class Connect(NamedTuple):
    """A tool that is running wants a TCP connection. `connect_wish` makes this message."""

    host: str
    port: int

    def as_json(self) -> Json:
        return {"connect": {"host": self.host, "port": self.port}}


class Progress(NamedTuple):
    """How much of a call is done, as its tool says. At most one is sent in `EVENT_SECONDS` (`call_channel.py`)."""

    #: From 0 to 1.
    fraction: float
    text: str

    def as_json(self) -> Json:
        return {"progress": self._asdict()}


class Values(NamedTuple):
    """Values that a generator has yielded, each as JSON text.

    The server process checks each text (`server/pool/call_events.py`).
    """

    values: list[str]

    def as_json(self) -> Json:
        return {"values": self.values}


class ContentPart(NamedTuple):
    """An image or a file of the result begins. Its bytes follow in pieces, before the next part and before the answer."""

    type: Literal["image", "file"]
    mime_type: str
    name: str
    #: How many bytes it has.
    size: int

    def as_json(self) -> Json:
        return {
            "content": {
                "type": self.type,
                "mimeType": self.mime_type,
                "name": self.name,
                "bytes": self.size,
            }
        }


class ContentPiece(NamedTuple):
    """The next bytes of an image or a file, in base64. Every piece but the last has `PIECE_BYTES` (`wire/content.py`)."""

    data: str

    def as_json(self) -> Json:
        return {"piece": self.data}


class TextResult(NamedTuple):
    """The tool returned a string. The limit of the call bounds its length."""

    text: str
    #: The number of the call.
    call: int = 0

    def as_json(self) -> Json:
        return {"answer": {"text": self.text, **_number(self.call)}}


class JsonResult(NamedTuple):
    """The tool has returned another value, which is JSON text here.

    The server process checks it, and passes it on unchanged.
    """

    json: str
    #: The number of the call.
    call: int = 0

    def as_json(self) -> Json:
        return {"answer": {"json": self.json, **_number(self.call)}}


class CallFailure(NamedTuple):
    """The call gave no result, or the module could not be imported."""

    code: str
    error: str
    #: The number of the call.
    call: int = 0
    #: The kind of the exception, if the tool has raised one whose class says it.
    kind: FailureKind | None = None

    def as_json(self) -> Json:
        error = self.error[:ERROR_CHARACTERS_MAX]
        kind = {} if self.kind is None else {"kind": self.kind}
        return {"answer": {"code": self.code, "error": error, **kind, **_number(self.call)}}


class Rested(NamedTuple):
    """The child has tidied up after the call with this number, and waits for the next one."""

    call: int

    def as_json(self) -> Json:
        return {"rested": self.call}


def _number(call: int) -> Json:
    """The number of a call in its answer. It is left out of the first answer, because most children serve one call."""
    return {"call": call} if call else {}


class StageReport(NamedTuple):
    """The report of a check so far. `server/pool/check_report.py` checks its contents."""

    stage: Literal["parsed", "imported", "loaded"]
    report: dict[str, Any]

    def as_json(self) -> Json:
        return {"stage": self.report | {"stage": self.stage}}


class ExampleStarts(NamedTuple):
    """The check runs this example now."""

    tool: str
    #: The index of the example in the tool's list of examples.
    example: int
    line: int | None = None

    def as_json(self) -> Json:
        return {"stage": {"stage": "running", **self._asdict()}}


class Done(NamedTuple):
    """The check is over, and all of its output is written."""

    def as_json(self) -> Json:
        return {"done": True}


class Sights(NamedTuple):
    """The observation of each probe, by the name of the probe."""

    saw: dict[str, str]

    def as_json(self) -> Json:
        return {"sights": {name: saw[:REASON_CHARACTERS_MAX] for name, saw in self.saw.items()}}


Answer: TypeAlias = TextResult | JsonResult | CallFailure
Event: TypeAlias = Progress | Values
ChildMessage: TypeAlias = (
    Failed
    | Imports
    | Starting
    | Ready
    | Connect
    | Event
    | ContentPart
    | ContentPiece
    | Answer
    | Rested
    | StageReport
    | ExampleStarts
    | Done
    | Sights
)
