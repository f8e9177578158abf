"""The messages between the server process and a zygote.

A packet is one JSON array: the name of the message, and then its fields.

After a fork, a zygote copies each memory page to which it writes, even if it only changes a reference count. So it calls few
functions for each child.
"""

import json.scanner
import socket
import sys
from typing import Any, NamedTuple, TypeAlias, get_args

from toolrack_runner.wire.canaries import CONNECTIONS

#: The most bytes of a packet. The longest message fits: an opening with its paths and the names of packages.
PACKET_BYTES = 1 << 16
#: The most descriptors of one packet: a spawn has two, an opening with canaries has two, a birth has one.
DESCRIPTORS_MAX = 2
_ANCILLARY_BYTES = socket.CMSG_SPACE(DESCRIPTORS_MAX * 4)

_encode = json.JSONEncoder(separators=(",", ":")).encode
#: The original method. A zygote removes it from the class, so that its children do not call it (`denied_calls.py`).
_sendmsg = socket.socket.sendmsg
_scan = json.scanner.make_scanner(json.JSONDecoder())  # type: ignore[arg-type] # typeshed wants its own class


class Limits(NamedTuple):
    """The limits of one child."""

    memory_bytes: int = 256 << 20
    address_space_bytes: int = 4 << 30
    cpu_seconds: int = 10
    file_bytes: int = 10 << 20
    open_files: int = 64
    output_bytes: int = 10 << 20


class Opening(NamedTuple):
    """The first message to a zygote, with its settings."""

    #: Packages that are imported before any child is forked.
    preload: tuple[str, ...]
    #: The folder for work directories, made only if namespaces are missing.
    base: str
    #: Paths that a child may read.
    read_only: tuple[str, ...]
    #: Layers that the operator switched off.
    without: tuple[str, ...]
    #: The folders that the interpreter needs for every import.
    needed: tuple[str, ...]
    #: The fields of `wire.canaries.Canaries` except `victim`; None after the level is measured.
    canaries: dict[str, int | str] | None = None
    #: The folder of all environments (`server/packages/`). Empty if packages are off.
    packages: str = ""
    #: The folders of installed packages, which the zygote appends to its import path. It starts without them (`-S`), so that
    #: no `.pth` file and no `sitecustomize` of them runs.
    installed: tuple[str, ...] = ()
    #: What `sys.prefix` is: the folder of the virtual environment.
    prefix: str = ""


class Spawn(NamedTuple):
    """Orders a zygote to fork a child.

    Two descriptors come with it: the child's end of its channel, and the pipe for its output.
    """

    child: int
    slot: int
    limits: Limits
    #: The name of the folder of its environment. Empty if it has none.
    environment: str = ""
    #: The bytes of the environment's shared libraries, which the child may map in addition to the usual room.
    library_bytes: int = 0
    #: The memory pages that the child copies before it is confined (`page_ranges.py`).
    pages: str = ""


class Ready(NamedTuple):
    """The zygote's answer to its opening."""

    #: The reason for each layer that is off, by the layer's name.
    missing: dict[str, str]
    #: The anonymous memory that each child will share with the zygote.
    anonymous_bytes: int
    #: `wire.canaries.Canaries.victim`; 0 if there is none.
    victim: int
    #: The observation of each probe, by the name of the probe; empty if nothing was probed.
    sights: dict[str, str]
    #: The reason why no child of this zygote can have an environment. Empty if they can.
    no_environments: str = ""
    #: The top-level names of all modules that it has imported from installed packages.
    loaded: tuple[str, ...] = ()


class Importing(NamedTuple):
    """The zygote imports this package now. If it dies or hangs before its next message, the reason is this package."""

    package: str


class Unfit(NamedTuple):
    """The zygote ends, because a package is imported only partly, or would not work in a forked child."""

    #: The reason for each package that may have caused this.
    reasons: dict[str, str]


class Grown(NamedTuple):
    """The zygote has imported more modules. `anonymous_bytes` is how much memory each new child shares with it."""

    anonymous_bytes: int


class Born(NamedTuple):
    """A child was forked. Its pidfd comes with the message."""

    child: int


class Gone(NamedTuple):
    """A child was reaped, and its files are removed."""

    child: int
    #: An exit code, or the negative number of a signal (`os.waitstatus_to_exitcode`).
    exit_code: int
    cpu_seconds: float
    resident_bytes_max: int


class Unborn(NamedTuple):
    """A child could not be forked."""

    child: int
    reason: str


Message: TypeAlias = Opening | Spawn | Ready | Importing | Unfit | Grown | Born | Gone | Unborn
_TYPES: dict[str, type[Message]] = {kind.__name__: kind for kind in get_args(Message)}


class ZygoteChannel:
    """One end of the channel between the server process and a zygote."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end

    def send(self, message: Message, descriptors: tuple[int, ...] = ()) -> None:
        """Sends one message. The caller closes the descriptors."""
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
        """Receives the next message and its descriptors. Raises EOFError if the other side has closed the channel."""
        packet, ancillary, _, _ = self.socket.recvmsg(PACKET_BYTES, _ANCILLARY_BYTES)
        if not packet:
            raise EOFError("the other side has closed the channel")
        descriptors = [number for _, _, rights in ancillary for number in memoryview(rights).cast("i")]
        return _parse(*_scan(packet.decode(), 0)[0]), descriptors


def _parse(name: str, *given: Any) -> Message:
    """The message in a packet. Both sides are trusted, so this function only restores the types of the fields."""
    kind = _TYPES[name]
    if kind is Spawn:
        return Spawn(given[0], given[1], Limits(*given[2]), *given[3:])
    if kind is Opening or kind is Ready:
        given = tuple([tuple(each) if isinstance(each, list) else each for each in given])
    return kind(*given)
