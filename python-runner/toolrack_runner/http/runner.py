"""What the routes work with."""

from dataclasses import dataclass, field
from typing import Final

from toolrack_runner.http.fault import Fault
from toolrack_runner.level.measurement import ONLY_LINUX, Measurement, Unmeasured
from toolrack_runner.pool.fair_queue import FairQueue, QueueFull
from toolrack_runner.pool.pool import Pool
from toolrack_runner.pool.sources import Sources
from toolrack_runner.settings import LEVELS, Settings

#: Of main's processor time one call or check may take so much; an ordinary one takes 0.2 ms.
MAIN_SECONDS: Final = 0.003
#: Whoever takes more starts nothing for so many times the rest: main is one thread, and has a ninth of it for one user.
PAUSE_TIMES: Final = 8
MAIN_PAUSE_SECONDS_MAX: Final = 1.0


@dataclass
class Runner:
    """One for each process."""

    settings: Settings
    #: None where this system has no way to make children.
    pool: Pool | None
    #: The places of calls, which users share, and those of checks.
    calls: FairQueue
    checks: FairQueue
    measurement: Measurement | Unmeasured
    sources: Sources = field(default_factory=Sources)

    def require_pool(self) -> Pool:
        """Where children come from; raises Fault where they come from nowhere."""
        if self.pool is None:
            raise Fault("ISOLATION_UNAVAILABLE", f"no user code runs here: {ONLY_LINUX}")
        return self.pool

    def close(self) -> None:
        """Kills every child, and leaves nothing behind."""
        self.measurement.close()
        if self.pool is not None:
            self.pool.close()

    def pause_for_main(self, queue: FairQueue, tenant: str, main_seconds: float) -> None:
        """A user whose call or check took much of main's time starts none in this queue for a multiple of it.

        To be told while it still has its place: the user's next would start in it. One user alone takes it from nobody.
        """
        excess = main_seconds - MAIN_SECONDS
        if excess > 0 and not self.settings.is_for_one_user:
            queue.pause(tenant, min(excess * PAUSE_TIMES, MAIN_PAUSE_SECONDS_MAX))

    @property
    def is_ready(self) -> bool:
        """Whether calls are taken now."""
        return self.pool is not None and self.pool.zygotes.plain_is_ready.is_set()

    async def require_level(self, wanted: str | None) -> str:
        """The level measured, once it is; raises Fault where it is below what is asked for, and nothing runs."""
        measured = (await self.measurement.done()).level
        needed = max(self.settings.min_isolation, wanted or "", key=lambda level: LEVELS.index(level or "L0"))
        if LEVELS.index(measured) < LEVELS.index(needed):
            raise Fault(
                "ISOLATION_UNAVAILABLE",
                f"isolation {needed} is asked for and {measured} is what this machine was measured at; "
                "GET /health says which layer is missing, and why",
            )
        return measured


def busy(full: QueueFull, what: str) -> Fault:
    """What is said to who may not even wait; `what` is what was asked for, as `calls`."""
    sentence = (
        f"{full.count} of your {what} run or wait, as many as one user may have; "
        "come again when one of them has ended"
        if full.is_users_own
        else f"{full.count} {what} of many users wait, as many as may; come again"
    )
    return Fault("RUNNER_BUSY", sentence, retry_after_seconds=full.retry_after_seconds)
