"""What main and a zygote say to each other: one JSON array a packet, its kind and its fields; descriptors beside it.

After each fork a zygote copies every page that it writes to, so that of an object's reference count alone: what it does
for a child takes few functions.
"""

import json.scanner
import socket
import sys
from typing import Any, NamedTuple

from toolrack_runner.level.canaries import CONNECTIONS

#: A packet holds the longest message there is: the opening one, with its paths and package names.
PACKET_BYTES = 1 << 16
#: A spawn brings two descriptors, an opening with plants too, a birth one.
DESCRIPTORS_MAX = 2
_ANCILLARY_BYTES = socket.CMSG_SPACE(DESCRIPTORS_MAX * 4)

_encode = json.JSONEncoder(separators=(",", ":")).encode
#: A zygote takes it off the class, for its children (`no_sendmsg.py`).
_sendmsg = socket.socket.sendmsg
_scan = json.scanner.make_scanner(json.JSONDecoder())  # type: ignore[arg-type] # typeshed wants its own class


class Limits(NamedTuple):
    """What one child may use; design section 11."""

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
    #: What main has planted for the twins of attacks to aim at (`Canaries` without its victim): until the level is measured.
    plants: dict[str, Any] | None = None


class Spawn(NamedTuple):
    """Fork a child; two descriptors come with it: the child's channel and what its output goes to."""

    child: int
    slot: int
    limits: Limits


class Ready(NamedTuple):
    """The zygote's answer to its opening."""

    #: Why a layer is not on, by the layer's name; a layer that is not named is on.
    missing: dict[str, str]
    #: Packages that could not be preloaded, with the reason.
    not_preloaded: dict[str, str]
    #: What children share and no file is behind, before any is forked.
    anonymous_bytes: int
    landlock_abi: int
    #: A process of the zygote's own user outside of every jail, which the twins of attacks aimed at; 0 where there is none.
    victim: int
    #: What the twins saw, by their names; none where nothing was planted.
    sights: dict[str, str]


class Grown(NamedTuple):
    """The zygote has done what it does when nobody waits: from now on children share this much."""

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


Message = Opening | Spawn | Ready | Grown | Born | Gone | Unborn
_TYPES: dict[str, type[Message]] = {
    kind.__name__: kind for kind in (Opening, Spawn, Ready, Grown, Born, Gone, Unborn)
}


class Line:
    """One end of the socket between main and a zygote."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    def send(self, message: Message, descriptors: tuple[int, ...] = ()) -> None:
        """Sends one message; the descriptors stay the caller's to close."""
        packet = _encode((type(message).__name__, *message)).encode()
        if not descriptors:
            self.end.send(packet)
            return
        rights = b"".join([descriptor.to_bytes(4, sys.byteorder) for descriptor in descriptors])
        _sendmsg(self.end, [packet], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])

    def open(self, opening: Opening) -> None:
        """Sends the first message, and with it the connections that were planted."""
        plants = opening.plants
        self.send(opening, () if plants is None else tuple(plants[name] for name in CONNECTIONS))

    def receive(self) -> tuple[Message, list[int]]:
        """The next message and the descriptors that came with it; raises EOFError when the other side has gone."""
        packet, ancillary, _, _ = self.end.recvmsg(PACKET_BYTES, _ANCILLARY_BYTES)
        if not packet:
            raise EOFError("the other side has gone")
        descriptors = [number for _, _, rights in ancillary for number in memoryview(rights).cast("i")]
        return parse_message(_scan(packet.decode(), 0)[0]), descriptors


def parse_message(value: list[Any]) -> Message:
    """The message that a packet holds. Both sides are ours: a packet of another shape is a fault of the program."""
    name, *given = value
    kind = _TYPES[name]
    if kind is Spawn:
        given[2] = Limits(*given[2])
    if kind is Opening:
        given = [tuple(each) if isinstance(each, list) else each for each in given]
    return kind(*given)
