"""The level of isolation, measured once at boot in children like those of calls, before any user code runs."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from toolrack_runner.level.probe import Probe, expected, held_by
from toolrack_runner.level.probes import PROBES
from toolrack_runner.pool.pool import Pool

_log = logging.getLogger("toolrack_runner")

LAYERS = ("hygiene", "rlimits", "identity", "landlock", "seccomp", "namespaces")
ONLY_LINUX = "the jail needs a Linux kernel; on another system, run the container (Dockerfile)"


class LayerState(TypedDict):
    """One layer of the jail, as `/health` shows it."""

    name: str
    on: bool
    #: The attacks that were seen to fail as this layer makes them fail.
    provedBy: tuple[str, ...]
    #: Why it is off.
    reason: NotRequired[str]


class Proof(TypedDict):
    """One attack, and what its probe saw, as `/health` shows it."""

    name: str
    level: str
    held: bool
    #: What the probe sees if a layer that is on holds the attack.
    expected: list[str]
    saw: str
    #: The layers that are on and explain what it saw.
    by: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """The level, and what it follows from."""

    level: str
    layers: tuple[LayerState, ...]
    proofs: tuple[Proof, ...]


def weigh(
    sights: Mapping[str, str], probes: tuple[Probe, ...], missing: Mapping[str, str], *, as_root: bool
) -> Measured:
    """The highest level whose attacks, and those of the levels below, were all held.

    `sights` is what each probe saw, `missing` is why a layer is off, both by name. A probe without a sight is not held.
    """
    on = [name for name in LAYERS if name not in missing]

    def proof(probe: Probe) -> Proof:
        saw = sights.get(probe.name, "no answer")
        seen = {each for saws in expected(probe, on, as_root=as_root).values() for each in saws}
        by = held_by(probe, saw, on, as_root=as_root)
        return {
            "name": probe.name,
            "level": probe.level,
            "held": bool(by),
            "expected": sorted(seen),
            "saw": saw,
            "by": by,
        }

    def layer(name: str) -> LayerState:
        proved_by = tuple(each["name"] for each in proofs if name in each["by"])
        state: LayerState = {"name": name, "on": name in on, "provedBy": proved_by}
        if name in missing:
            state["reason"] = missing[name]
        return state

    proofs = tuple(map(proof, probes))
    return Measured(_level(proofs), tuple(map(layer, LAYERS)), proofs)


def _level(proofs: tuple[Proof, ...]) -> str:
    reached = "L0"
    for level in ("L1", "L2", "L3"):
        held = [proof["held"] for proof in proofs if proof["level"] == level]
        if not held or not all(held):
            return reached
        reached = level
    return reached


class Unmeasured:
    """Replaces Measurement on a system that has no layers."""

    async def done(self) -> Measured:
        """L0, with the reason at every layer."""
        return weigh({}, (), dict.fromkeys(LAYERS, ONLY_LINUX), as_root=False)

    async def known(self, _: float) -> Measured:
        """As `done`, at once."""
        return await self.done()

    def close(self) -> None:
        """There are no canaries to remove."""


class Measurement:
    """Waits for what the zygote's probes saw, and weighs it. `clear` removes the canaries that they aimed at."""

    def __init__(self, pool: Pool, clear: Callable[[], None]) -> None:
        self._pool = pool
        self._clear = clear
        self._task = asyncio.create_task(self._measure())

    async def done(self) -> Measured:
        """The level, once it is known."""
        return self._task.result() if self._task.done() else await asyncio.shield(self._task)

    async def known(self, seconds: float) -> Measured | None:
        """The level, if it is known within this time."""
        try:
            async with asyncio.timeout(seconds):
                return await self.done()
        except TimeoutError:
            return None

    def close(self) -> None:
        """Removes the canaries, if they are still there."""
        self._clear()

    async def _measure(self) -> Measured:
        ready = await self._pool.zygotes.plain_ready()
        self._pool.zygotes.probe_no_more()
        self._clear()
        with suppress(ProcessLookupError):
            os.kill(ready.victim, signal.SIGKILL)
        measured = weigh(ready.sights, PROBES, ready.missing, as_root=os.geteuid() == 0)
        for proof in measured.proofs:
            if not proof["held"]:
                _log.warning(
                    "an attack is not held here", extra={"attack": proof["name"], "saw": proof["saw"]}
                )
        await self._pool.refill()
        return measured
