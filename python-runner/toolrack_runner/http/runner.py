"""What the routes work with, and how much of the runner one user may have."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from toolrack_runner.http.http_error import HttpError
from toolrack_runner.level.measurement import ONLY_LINUX, Measurement, Unmeasured
from toolrack_runner.pool.children import PoolError
from toolrack_runner.pool.fair_queue import FairBudget, FairQueue, QueueFullError, Shares
from toolrack_runner.pool.pool import Pool
from toolrack_runner.settings import LEVELS, Settings

#: Checks at once, at the least: one that hangs leaves another place.
CHECKS_MIN: Final = 2
#: How many of a user's calls may wait for each place that the user may have.
WAITING_PER_PLACE: Final = 2
#: How many may wait for each place that there is: as many as 16 users have who let as many wait as they may.
WAITING_MAX_PER_PLACE: Final = 16
#: What one call or check may take of main's processor time; an ordinary one takes 0.2 ms.
MAIN_SECONDS: Final = 0.003
#: A user whose call took more starts nothing for so many times the excess. So main's one thread works a ninth for one user.
PAUSE_TIMES: Final = 8
MAIN_PAUSE_SECONDS_MAX: Final = 1.0
#: 64 MB hold 250 modules of the largest size.
SOURCES_BYTES_MAX: Final = 64 << 20


def shares_of_calls(slots: int, user_slots: int | None) -> Shares:
    """`user_slots` is what the operator lets one user have; None is half."""
    return _shares(slots, max(1, slots // 2) if user_slots is None else user_slots)


def shares_of_checks(slots: int, user_slots: int | None) -> Shares:
    """Half as many places as there are for calls, and the same part of them for one user.

    Checks have places of their own, so that uploads that hang never hold the place of a call.
    """
    places = max(CHECKS_MIN, slots // 2)
    return _shares(places, max(1, places // 2 if user_slots is None else places * user_slots // slots))


def _shares(places: int, places_per_user: int) -> Shares:
    return Shares(
        places=places,
        places_per_user=places_per_user,
        waiting_per_user=WAITING_PER_PLACE * places_per_user,
        waiting_max=WAITING_MAX_PER_PLACE * places,
    )


class Sources:
    """The sources that callers sent, by their sha256: what this instance can run without being sent it again.

    Where there is no room, the user who has the most loses the source that was used longest ago.
    """

    def __init__(self, bytes_max: int = SOURCES_BYTES_MAX) -> None:
        self._bytes = FairBudget(bytes_max)
        #: Each with its size, and the user who sent it first; others who have the same source use it too.
        self._held: OrderedDict[str, tuple[str, int, str]] = OrderedDict()

    def find(self, sha256: str) -> str | None:
        """The source of that digest, which is used now; None where it is not here."""
        if sha256 not in self._held:
            return None
        self._held.move_to_end(sha256)
        return self._held[sha256][0]

    def keep(self, user: str, sha256: str, source: str) -> None:
        """Keeps what the user sent. The digest has to be the source's own."""
        if self.find(sha256) is not None:
            return
        size = len(source.encode("utf-8", "surrogatepass"))
        self._held[sha256] = source, size, user
        self._bytes.add(user, size)
        while (greediest := self._bytes.greediest) is not None:
            oldest = next(digest for digest, (*_, owner) in self._held.items() if owner == greediest)
            self._bytes.add(greediest, -self._held.pop(oldest)[1])


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
        """Where children come from; raises HttpError where there can be none."""
        if self.pool is None:
            raise HttpError("ISOLATION_UNAVAILABLE", f"no user code runs here: {ONLY_LINUX}")
        return self.pool

    async def require_level(self, wanted: str | None) -> str:
        """The level, once it is measured; raises HttpError where it is below what is asked for, and nothing runs."""
        measured = (await self.measurement.done()).level
        needed = max(self.settings.min_isolation, wanted or "", key=lambda level: LEVELS.index(level or "L0"))
        if LEVELS.index(measured) < LEVELS.index(needed):
            raise HttpError(
                "ISOLATION_UNAVAILABLE",
                f"isolation {needed} is asked for and {measured} is what this machine was measured at; "
                "GET /health says which layer is missing, and why",
            )
        return measured

    @asynccontextmanager
    async def place(self, queue: FairQueue, tenant: str, what: str) -> AsyncIterator[None]:
        """Waits for a place and holds it; `what` it is for, as `calls`. Raises HttpError where the user may not wait, and
        where no child can be had.
        """
        try:
            async with queue.place(tenant):
                yield
        except QueueFullError as full:
            sentence = (
                f"{full.count} of your {what} run or wait, as many as one user may have; "
                "come again when one of them has ended"
                if full.is_users_own
                else f"{full.count} {what} of many users wait, as many as may; come again"
            )
            retry = full.retry_after_seconds
            raise HttpError("RUNNER_BUSY", sentence, retry_after_seconds=retry) from None
        except PoolError as error:
            raise HttpError("RUNNER_UNAVAILABLE", f"{error}", retry_after_seconds=1) from None

    def pause_for_main(self, queue: FairQueue, tenant: str, main_seconds: float) -> None:
        """A user whose call or check took much of main's time starts none in this queue for a multiple of it.

        Called while the call still has its place: the user's next one would start in it. Not for a user who is alone.
        """
        excess = main_seconds - MAIN_SECONDS
        if excess > 0 and not self.settings.is_for_one_user:
            queue.pause(tenant, min(excess * PAUSE_TIMES, MAIN_PAUSE_SECONDS_MAX))

    @property
    def is_ready(self) -> bool:
        """Whether calls are taken now."""
        return self.pool is not None and self.pool.zygotes.plain_is_ready.is_set()

    def close(self) -> None:
        """Kills every child, and leaves nothing behind."""
        self.measurement.close()
        if self.pool is not None:
            self.pool.close()
