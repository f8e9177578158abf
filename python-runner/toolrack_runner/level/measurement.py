"""Measures the level once, at the start, in children like those that calls get; before any user code runs."""

import asyncio
import logging
import os
import signal
from dataclasses import asdict
from typing import Any

from toolrack_runner.level.measured import LAYERS, Measured, weigh
from toolrack_runner.level.planted import planted
from toolrack_runner.level.plants import Plants
from toolrack_runner.level.twin import ESCAPED, Sight
from toolrack_runner.level.twins import TWINS
from toolrack_runner.pool.pool import Pool, PoolFailure
from toolrack_runner.pool.worker import SaidNonsense, SaidNothing, SaidTooMuch
from toolrack_runner.zygote.messages import Limits, Opening

#: A twin that takes longer is not held.
TWIN_SECONDS = 5.0

_log = logging.getLogger("toolrack_runner")


ONLY_LINUX = (
    "children are confined by what the Linux kernel has; on another system, run the container (Dockerfile)"
)


class Unmeasured:
    """Where there is nothing to measure: no layer is on, and nothing is promised."""

    async def done(self) -> Measured:
        """L0, with the reason at every layer."""
        return weigh({}, (), dict.fromkeys(LAYERS, ONLY_LINUX), as_root=False)

    async def known(self, _: float) -> Measured:
        """The same, at once."""
        return await self.done()


class Measurement:
    """Runs once; whoever needs the level waits for it."""

    def __init__(self, pool: Pool, opening: Opening) -> None:
        self._pool = pool
        self._base = opening.base
        self._task = asyncio.create_task(self._measure())

    async def done(self) -> Measured:
        """The level, once it is known."""
        return await asyncio.shield(self._task)

    async def known(self, seconds: float) -> Measured | None:
        """The level, if it is known within so long."""
        try:
            async with asyncio.timeout(seconds):
                return await self.done()
        except TimeoutError:
            return None

    async def _measure(self) -> Measured:
        ready = await self._pool.zygotes.plain_ready()
        try:
            with planted(self._base, victim=ready.victim) as plants:
                combined = tuple(twin.name for twin in TWINS if twin.is_combinable)
                alone = [(twin.name,) for twin in TWINS if not twin.is_combinable]
                seen = await asyncio.gather(*(self._try(names, plants) for names in (combined, *alone)))
        finally:
            self._pool.zygotes.need_no_victim()
            _end(ready.victim)
        sights = {name: sight for group in seen for name, sight in group.items()}
        measured = weigh(sights, TWINS, ready.missing, as_root=os.geteuid() == 0)
        for proof in measured.proofs:
            if not proof.held:
                _log.warning("an attack is not held here", extra={"attack": proof.attack, "saw": proof.saw})
        await self._pool.refill()
        return measured

    async def _try(self, names: tuple[str, ...], plants: Plants) -> dict[str, Sight]:
        """What the twins saw in one child. Whatever ends the child is theirs: the attack has succeeded."""
        try:
            worker = await self._pool.blank(Limits())
        except PoolFailure:
            return {}
        try:
            worker.send({"do": "probe", "twins": names, "plants": asdict(plants)})
            async with asyncio.timeout(TWIN_SECONDS):
                message = await worker.receive()
        except (TimeoutError, SaidNothing, SaidTooMuch, SaidNonsense):
            return dict.fromkeys(names, Sight(ESCAPED))
        finally:
            worker.kill()
        return _sights(message)


def _sights(message: dict[str, Any]) -> dict[str, Sight]:
    if "sights" not in message:
        _log.error("a child could not be confined", extra={"reason": message.get("failed")})
    return {name: Sight(saw) for name, saw in message.get("sights", {}).items()}


def _end(victim: int) -> None:
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        pass
