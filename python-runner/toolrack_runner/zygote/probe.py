"""Tries harmless forms of the attacks, in children like those that calls get, before there is any such child.

The zygote does it at its start, while main still imports its server.
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

from toolrack_runner.jail.confine import Confinement
from toolrack_runner.level.canaries import CONNECTIONS, Canaries
from toolrack_runner.level.probe import ESCAPED
from toolrack_runner.level.probes import PROBES
from toolrack_runner.wire.child_messages import Failed, ProbeOrder, ProtocolError, Sights
from toolrack_runner.wire.frames import FrameError, read_frame, write_frame
from toolrack_runner.wire.parse_child_message import parse_child_message
from toolrack_runner.zygote.child import live
from toolrack_runner.zygote.messages import Limits, Spawn

#: An attack that takes longer counts as one that has succeeded.
PROBE_SECONDS: Final = 5.0


def probe(confinement: Confinement, canaries: Canaries) -> dict[str, str]:
    """What each probe saw. An attack whose child ends has succeeded."""
    combined = [each.name for each in PROBES if each.is_combinable]
    alone = [[each.name] for each in PROBES if not each.is_combinable]
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
    """One child, and the names of the probes that it tries."""

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
            live(confinement, workplace, Spawn(slot, slot, Limits()), theirs.fileno(), output, kept)
        theirs.close()
        os.close(output)

    def order(self, canaries: Canaries) -> None:
        """Tells the child what to try."""
        write_frame(self._channel.fileno(), ProbeOrder(list(self._names), asdict(canaries)).as_json())

    def sights(self, ends: float) -> dict[str, str]:
        """What its probes saw, until `ends` on the monotonic clock."""
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
        """Kills it; nothing of it is left when this returns."""
        os.kill(self._pid, signal.SIGKILL)
        self._channel.close()
        if "seccomp" in self._confinement.missing:
            kill_group(self._pid)
        os.waitpid(self._pid, 0)
        clearing = self._confinement.clear_workplace(self._slot)
        if clearing is not None:
            os.waitpid(clearing, 0)


def kill_group(pid: int) -> None:
    """Kills what a child left in its process group. The child must not be reaped yet: its pid cannot be another's then.

    Only needed where forking is not denied; docs/security.md says what is not promised there.
    """
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def as_seen_here(canaries: dict[str, int | str], victim: int, connections: Sequence[int]) -> Canaries:
    """What main sent, with the zygote's own process, and its own numbers of the descriptors that main sent."""
    descriptors = dict(zip(CONNECTIONS, connections, strict=True))
    return replace(Canaries(**canaries), victim=victim, **descriptors)  # type: ignore[arg-type]
