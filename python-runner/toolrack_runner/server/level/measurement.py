"""Measures the level of isolation once, when the runner starts, in children that are confined like those of calls.

Until the level is measured, no user code runs.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from toolrack_runner.server.level.probe import Probe, expected, held_by
from toolrack_runner.server.level.probes import PROBES
from toolrack_runner.server.pool.pool import Pool

_log = logging.getLogger("toolrack_runner")

LAYERS = ("hygiene", "rlimits", "identity", "landlock", "seccomp", "namespaces")
ONLY_LINUX = "the jail needs a Linux kernel; on another system, run the container (Dockerfile)"


class LayerState(TypedDict):
    """One layer of the jail in the answer of `/health`."""

    name: str
    on: bool
    #: The attacks that fail because of this layer, which shows that it works.
    provedBy: tuple[str, ...]
    #: The reason if the layer is off.
    reason: NotRequired[str]


class Proof(TypedDict):
    """One attack and what its probe has observed, as the answer of `/health` shows it."""

    name: str
    level: str
    held: bool
    #: The observations that are possible if a layer that is on makes the attack fail.
    expected: list[str]
    saw: str
    #: The layers that are on and explain the observation.
    by: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """The level, with the layers and the proofs that it follows from."""

    level: str
    layers: tuple[LayerState, ...]
    proofs: tuple[Proof, ...]


def weigh(
    sights: Mapping[str, str], probes: tuple[Probe, ...], missing: Mapping[str, str], *, as_root: bool
) -> Measured:
    """Computes the level: the highest one for which all of its attacks, and those of the levels below, were prevented.

    `sights` has the observation of each probe by its name. If there is none, the attack counts as successful. `missing` has
    the reason for each layer that is off.
    """
    on = [name for name in LAYERS if name not in missing]

    def proof(probe: Probe) -> Proof:
        saw = sights.get(probe.name, "no answer")
        by = held_by(probe, saw, on, as_root=as_root)
        return {
            "name": probe.name,
            "level": probe.level,
            "held": bool(by),
            "expected": sorted(set(expected(probe, on, as_root=as_root).values())),
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


class Measurement:
    """Computes the level from what the probes of the zygote have observed. Without a pool the level is L0."""

    def __init__(self, pool: Pool | None, clear: Callable[[], None]) -> None:
        #: Removes the canaries of the probes, if they still exist.
        self.close = clear
        self._task = asyncio.create_task(self._measure(pool))

    async def done(self) -> Measured:
        """Waits until the level is measured, and returns the result."""
        return await asyncio.shield(self._task)

    async def known(self, seconds: float) -> Measured | None:
        """The level. None if it takes longer than this to measure it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self.done()
        return None

    async def _measure(self, pool: Pool | None) -> Measured:
        if pool is None:
            return weigh({}, (), dict.fromkeys(LAYERS, ONLY_LINUX), as_root=False)
        ready = await pool.zygotes.plain_ready()
        pool.zygotes.probe_no_more()
        self.close()
        with suppress(ProcessLookupError):
            os.kill(ready.victim, signal.SIGKILL)
        measured = weigh(ready.sights, PROBES, ready.missing, as_root=os.geteuid() == 0)
        for proof in measured.proofs:
            if not proof["held"]:
                _log.warning(
                    "an attack is not held here", extra={"attack": proof["name"], "saw": proof["saw"]}
                )
        await pool.refill()
        return measured
