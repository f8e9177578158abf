"""What main and a zygote say to each other. A packet is one JSON array: the kind of the message, then its fields.

After each fork a zygote copies every page that it writes to, and a reference count is written too. So its work for a child
takes few functions.
"""

import json.scanner
import socket
import sys
from typing import Any, NamedTuple, TypeAlias, get_args

from toolrack_runner.level.canaries import CONNECTIONS

#: For the longest message, which is the opening with its paths and package names.
PACKET_BYTES = 1 << 16
#: Of one packet: two come with a spawn and with an opening that has canaries, one with a birth.
DESCRIPTORS_MAX = 2
_ANCILLARY_BYTES = socket.CMSG_SPACE(DESCRIPTORS_MAX * 4)

_encode = json.JSONEncoder(separators=(",", ":")).encode
#: A zygote takes it off the class, for its children (`denied_calls.py`).
_sendmsg = socket.socket.sendmsg
_scan = json.scanner.make_scanner(json.JSONDecoder())  # type: ignore[arg-type] # typeshed wants its own class


class Limits(NamedTuple):
    """What one child may use."""

    memory_bytes: int = 256 << 20
    address_space_bytes: int = 4 << 30
    cpu_seconds: int = 10
    file_bytes: int = 10 << 20
    open_files: int = 64
    output_bytes: int = 10 << 20


class Opening(NamedTuple):
    """The first message to a zygote: what it is to be."""

    #: Packages that are imported before any child is forked.
    preload: tuple[str, ...]
    #: A directory that is not there yet, for work directories where there are no namespaces.
    base: str
    #: What a child may read.
    read_only: tuple[str, ...]
    #: Layers that the operator switched off.
    without: tuple[str, ...]
    #: Those of them without which the interpreter does not work.
    needed: tuple[str, ...]
    #: The fields of `level.canaries.Canaries`, without its victim; None once the level is measured.
    canaries: dict[str, int | str] | None = None


class Spawn(NamedTuple):
    """Fork a child. Two descriptors come with it: the child's end of its channel, and the pipe for its output."""

    child: int
    slot: int
    limits: Limits


class Ready(NamedTuple):
    """The zygote's answer to its opening."""

    #: Why a layer is not on, by the layer's name; a layer that is not named is on.
    missing: dict[str, str]
    #: Packages that could not be preloaded, with the reason.
    not_preloaded: dict[str, str]
    #: Memory without a file behind it that children share with the zygote, before any is forked.
    anonymous_bytes: int
    #: `level.canaries.Canaries.victim`; 0 where there is none.
    victim: int
    #: What the probes saw, by their names; empty where nothing was probed.
    sights: dict[str, str]


class Grown(NamedTuple):
    """The zygote has imported more while nobody waited: from now on children share this much."""

    anonymous_bytes: int


class Born(NamedTuple):
    """A child was forked; its pidfd comes with the message."""

    child: int


class Gone(NamedTuple):
    """A child was reaped: nothing of it is left."""

    child: int
    #: What `os.waitstatus_to_exitcode` says: an exit code, or minus the signal.
    exit_code: int
    cpu_seconds: float
    resident_bytes_max: int


class Unborn(NamedTuple):
    """A child could not be forked."""

    child: int
    reason: str


Message: TypeAlias = Opening | Spawn | Ready | Grown | Born | Gone | Unborn
_TYPES: dict[str, type[Message]] = {kind.__name__: kind for kind in get_args(Message)}


class ZygoteChannel:
    """One end of the channel between main and a zygote."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end

    def send(self, message: Message, descriptors: tuple[int, ...] = ()) -> None:
        """Sends one message. The caller still has to close the descriptors."""
        packet = _encode((type(message).__name__, *message)).encode()
        if not descriptors:
            self.socket.send(packet)
            return
        rights = b"".join([descriptor.to_bytes(4, sys.byteorder) for descriptor in descriptors])
        _sendmsg(self.socket, [packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])

    def open(self, opening: Opening) -> None:
        """Sends the first message, and the connections among its canaries."""
        canaries = opening.canaries
        self.send(opening, () if canaries is None else tuple(int(canaries[name]) for name in CONNECTIONS))

    def receive(self) -> tuple[Message, list[int]]:
        """The next message and the descriptors that came with it; raises EOFError when the other side has gone."""
        packet, ancillary, _, _ = self.socket.recvmsg(PACKET_BYTES, _ANCILLARY_BYTES)
        if not packet:
            raise EOFError("the other side has gone")
        descriptors = [number for _, _, rights in ancillary for number in memoryview(rights).cast("i")]
        return _parse(*_scan(packet.decode(), 0)[0]), descriptors


def _parse(name: str, *given: Any) -> Message:
    """The message that a packet holds. Both sides are the runner's own, so only its fields' types are restored."""
    kind = _TYPES[name]
    if kind is Spawn:
        return Spawn(given[0], given[1], Limits(*given[2]))
    if kind is Opening:
        given = tuple([tuple(each) if isinstance(each, list) else each for each in given])
    return kind(*given)
