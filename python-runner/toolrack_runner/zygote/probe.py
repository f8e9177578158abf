"""Tries attacks in a harmless form, in children that are confined like those of calls.

The zygote does this at its start, while the server process is still importing the HTTP server.
"""

import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Final

from toolrack_runner.child.home import Home
from toolrack_runner.child.jail.confine import Confinement
from toolrack_runner.child.level.attempts import ALONE, COMBINABLE
from toolrack_runner.child.live import live
from toolrack_runner.wire.canaries import CONNECTIONS, Canaries
from toolrack_runner.wire.child_messages import Failed, ProbeOrder, ProtocolError, Sights
from toolrack_runner.wire.frames import FrameError, read_frame, write_frame
from toolrack_runner.wire.parse_child_message import parse_child_message
from toolrack_runner.wire.sight import ESCAPED
from toolrack_runner.wire.zygote_messages import Limits, Spawn

#: An attack that takes more time counts as successful.
PROBE_SECONDS: Final = 5.0


def probe(confinement: Confinement, canaries: Canaries) -> dict[str, str]:
    """What each probe has observed, by its name. If the child of an attack ends, the attack counts as successful."""
    combined = [attempt.__name__ for attempt in COMBINABLE]
    alone = [[attempt.__name__] for attempt in ALONE]
    kept = tuple(getattr(canaries, name) for name in CONNECTIONS)
    children = [_Child(confinement, slot, names, kept) for slot, names in enumerate((combined, *alone))]
    for child in children:
        child.order(canaries)
    ends = time.monotonic() + PROBE_SECONDS
    sights: dict[str, str] = {}
    for child in children:
        sights |= child.sights(ends)
        child.end()
    return sights


class _Child:
    """A child, and the names of the probes that it runs."""

    def __init__(
        self, confinement: Confinement, slot: int, names: Sequence[str], kept: tuple[int, ...]
    ) -> None:
        self._confinement = confinement
        self._slot = slot
        self._names = names
        self._channel, theirs = socket.socketpair()
        output = os.open(os.devnull, os.O_WRONLY)
        workplace = confinement.make_workplace(slot, Limits())
        self._pid = os.fork()
        if self._pid == 0:
            live(confinement, workplace, Home(), Spawn(slot, slot, Limits()), theirs.fileno(), output, kept)
        theirs.close()
        os.close(output)

    def order(self, canaries: Canaries) -> None:
        write_frame(self._channel.fileno(), ProbeOrder(list(self._names), asdict(canaries)).as_json())

    def sights(self, ends: float) -> dict[str, str]:
        """What the probes of this child have observed until `ends`, a time of the monotonic clock."""
        escaped = dict.fromkeys(self._names, ESCAPED)
        if not select.select((self._channel,), (), (), max(0.0, ends - time.monotonic()))[0]:
            return escaped
        try:
            answer = parse_child_message(read_frame(self._channel.fileno()))
        except (FrameError, OSError, ValueError, ProtocolError):
            return escaped
        match answer:
            case Sights():
                return escaped | answer.saw
            case Failed():
                return dict.fromkeys(self._names, f"no child could be confined: {answer.reason}")
        return escaped

    def end(self) -> None:
        """Kills the child. Waits until the child is reaped and its files are removed."""
        os.kill(self._pid, signal.SIGKILL)
        self._channel.close()
        if "seccomp" in self._confinement.missing:
            kill_group(self._pid)
        os.waitpid(self._pid, 0)
        clearing = self._confinement.clear_workplace(self._slot)
        if clearing is not None:
            os.waitpid(clearing, 0)


def kill_group(pid: int) -> None:
    """Kills all processes in a child's process group. Called before the child is reaped, as long as its pid is in use.

    Needed only if a child can fork. docs/explanation/security.md lists the promises that do not hold in this case.
    """
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def as_seen_here(canaries: dict[str, int | str], victim: int, connections: Sequence[int]) -> Canaries:
    """The canaries of the server process, with the zygote's victim and the zygote's numbers of the descriptors."""
    descriptors = dict(zip(CONNECTIONS, connections, strict=True))
    return replace(Canaries(**canaries), victim=victim, **descriptors)  # type: ignore[arg-type]
