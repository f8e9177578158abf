"""The level, measured once, at the start, in children like those that calls get; before any user code runs."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable

from toolrack_runner.level.measured import LAYERS, Measured, weigh
from toolrack_runner.level.twin import Sight
from toolrack_runner.level.twins import TWINS
from toolrack_runner.pool.pool import Pool

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

    def close(self) -> None:
        """Nothing was planted."""


class Measurement:
    """Waits for what the zygote's twins saw, and weighs it; whoever needs the level waits for that.

    `clear` takes away what was planted for them.
    """

    def __init__(self, pool: Pool, clear: Callable[[], None]) -> None:
        self._pool = pool
        self._clear = clear
        self._task = asyncio.create_task(self._measure())

    async def done(self) -> Measured:
        """The level, once it is known."""
        return self._task.result() if self._task.done() else await asyncio.shield(self._task)

    async def known(self, seconds: float) -> Measured | None:
        """The level, if it is known within so long."""
        try:
            async with asyncio.timeout(seconds):
                return await self.done()
        except TimeoutError:
            return None

    def close(self) -> None:
        """Nothing that was planted is left."""
        self._clear()

    async def _measure(self) -> Measured:
        ready = await self._pool.zygotes.plain_ready()
        self._pool.zygotes.probe_no_more()
        self._clear()
        _end(ready.victim)
        sights = {name: Sight(saw) for name, saw in ready.sights.items()}
        measured = weigh(sights, TWINS, ready.missing, as_root=os.geteuid() == 0)
        for proof in measured.proofs:
            if not proof.held:
                _log.warning("an attack is not held here", extra={"attack": proof.attack, "saw": proof.saw})
        await self._pool.refill()
        return measured


def _end(victim: int) -> None:
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        pass
