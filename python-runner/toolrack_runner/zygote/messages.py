"""What main and a zygote say to each other: one JSON object a packet, descriptors beside it."""

import json
import socket
from dataclasses import dataclass, fields
from typing import Any

#: A packet holds the longest message there is: the opening one, with its paths and package names.
PACKET_BYTES = 1 << 16
#: A spawn brings two descriptors, a birth one.
DESCRIPTORS_MAX = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child may use; design section 11."""

    memory_bytes: int = 256 << 20
    address_space_bytes: int = 4 << 30
    cpu_seconds: int = 10
    file_bytes: int = 10 << 20
    open_files: int = 64
    output_bytes: int = 10 << 20


@dataclass(frozen=True, slots=True)
class Opening:
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
    #: Whether a victim is planted, for the twins of attacks to aim at: until the level is measured.
    needs_victim: bool = False


@dataclass(frozen=True, slots=True)
class Spawn:
    """Fork a child; two descriptors come with it: the child's channel and what its output goes to."""

    child: int
    slot: int
    limits: Limits


@dataclass(frozen=True, slots=True)
class Ready:
    """The zygote's answer to its opening."""

    #: Why a layer is not on, by the layer's name; a layer that is not named is on.
    missing: dict[str, str]
    #: Packages that could not be preloaded, with the reason.
    not_preloaded: dict[str, str]
    #: Resident bytes before any child is forked: what children share.
    resident_bytes: int
    landlock_abi: int
    #: A process of the zygote's own user outside of every jail, for the twins of attacks to aim at; 0 where there is none.
    victim: int


@dataclass(frozen=True, slots=True)
class Grown:
    """The zygote has done what it does when nobody waits: from now on children share this much."""

    resident_bytes: int


@dataclass(frozen=True, slots=True)
class Born:
    """A child was forked; its pidfd comes with the message."""

    child: int


@dataclass(frozen=True, slots=True)
class Gone:
    """A child was reaped: nothing of it is left."""

    child: int
    #: What `os.waitstatus_to_exitcode` says: an exit code, or minus the signal.
    exit_code: int
    cpu_seconds: float
    resident_bytes_max: int


@dataclass(frozen=True, slots=True)
class Unborn:
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
        packet = json.dumps(message, default=_fields_of, separators=(",", ":")).encode()
        socket.send_fds(self.end, [packet], list(descriptors))

    def receive(self) -> tuple[Message, list[int]]:
        """The next message and the descriptors that came with it; raises EOFError when the other side has gone."""
        packet, descriptors, _, _ = socket.recv_fds(self.end, PACKET_BYTES, DESCRIPTORS_MAX)
        if not packet:
            raise EOFError("the other side has gone")
        return parse_message(json.loads(packet)), descriptors


def _fields_of(message: Any) -> dict[str, Any]:
    kind = type(message)
    return {"is": kind.__name__} | {name: getattr(message, name) for name in kind.__slots__}


def parse_message(value: dict[str, Any]) -> Message:
    """The message that a packet holds. Both sides are ours: a packet of another shape is a fault of the program."""
    kind = _TYPES[value.pop("is")]
    if kind is Spawn:
        del value["limits"]["is"]
        value["limits"] = Limits(**value["limits"])
    for field in fields(kind):
        if isinstance(value[field.name], list):
            value[field.name] = tuple(value[field.name])
    return kind(**value)
