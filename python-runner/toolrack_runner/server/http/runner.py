"""What all routes share, and how much of the runner one user may use."""

from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolrack_runner.server.http.http_error import HttpError
from toolrack_runner.server.level.measurement import ONLY_LINUX, Measurement
from toolrack_runner.server.pool.children import NoEnvironmentError, PoolError
from toolrack_runner.server.pool.fair_queue import FairBudget, FairQueue, QueueFullError, Shares
from toolrack_runner.server.pool.pool import Pool
from toolrack_runner.server.settings import LEVELS, Settings
from toolrack_runner.wire.child_messages import SourceText

if TYPE_CHECKING:
    from toolrack_runner.server.packages.packages import Packages

#: The fewest checks that may run at once. If one check hangs, another can still run.
CHECKS_MIN: Final = 2
#: How many calls or checks of a user may wait, for each one that the user may run at once.
WAITING_PER_PLACE: Final = 2
#: How many calls or checks of all users may wait, for each one that may run at once. With the default shares, 16 users can
#: each have as many waiting calls as one user may have.
WAITING_MAX_PER_PLACE: Final = 16
#: How many seconds of the server process's processor time a call or check may take before its user has to pause. Most take
#: 0.2 ms.
SERVER_SECONDS: Final = 0.003
#: If a call or check has taken more than SERVER_SECONDS, its user pauses for this many times the additional time. The server
#: process has only one thread, and so a user gets at most a ninth of its time.
PAUSE_TIMES: Final = 8
#: The longest pause, in seconds, after a call or check that took much time of the server process.
SERVER_PAUSE_SECONDS_MAX: Final = 1.0
#: The most bytes of the files for arguments, in base64, of all calls that wait or run, because they are in the memory of the
#: server process. There is room for 23 calls with the most files. Each user may have half of it.
ATTACHED_BYTES_MAX: Final = 256 << 20
#: The most bytes of all stored sources. 64 MB are enough for 250 modules of one file, each of the largest size.
SOURCES_BYTES_MAX: Final = 64 << 20


def shares_of_calls(slots: int, user_slots: int | None) -> Shares:
    """How many calls may run and wait. `user_slots` is how many slots one user may have. None means half of them."""
    return _shares(slots, max(1, slots // 2) if user_slots is None else user_slots)


def shares_of_checks(slots: int, user_slots: int | None) -> Shares:
    """How many checks may run and wait: half as many as calls, with the same fraction for one user.

    Checks are counted separately, so uploads that hang never keep a call from running.
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
    """The sources that callers have sent, by their sha256. So later calls need not contain the source.

    If there is no room, the user with the most bytes loses the source that was not used for the longest time.
    """

    def __init__(self, bytes_max: int = SOURCES_BYTES_MAX) -> None:
        self._bytes = FairBudget(bytes_max)
        #: Each source, its size, and the user who sent it first. Other users who have the same source use it too.
        self._held: OrderedDict[str, tuple[SourceText, int, str]] = OrderedDict()

    def find(self, sha256: str) -> SourceText | None:
        """The source, or None if it is not stored. It counts as used now."""
        if sha256 not in self._held:
            return None
        self._held.move_to_end(sha256)
        return self._held[sha256][0]

    def keep(self, user: str, sha256: str, source: SourceText) -> None:
        """Stores the source of a user. The caller has checked that `sha256` is its digest."""
        if self.find(sha256) is not None:
            return
        texts = (source,) if isinstance(source, str) else (*source, *source.values())
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
        self._held[sha256] = source, size, user
        self._bytes.add(user, size)
        while (greediest := self._bytes.greediest) is not None:
            oldest = next(digest for digest, (*_, owner) in self._held.items() if owner == greediest)
            self._bytes.add(greediest, -self._held.pop(oldest)[1])


@dataclass
class Runner:
    settings: Settings
    #: None if this system cannot make children.
    pool: Pool | None
    calls: FairQueue
    checks: FairQueue
    measurement: Measurement
    sources: Sources = field(default_factory=Sources)
    _packages: "Packages | None" = None
    #: The bytes of the files for arguments, by the users whose calls wait or run.
    _attached: Counter[str] = field(default_factory=Counter)

    @property
    def packages(self) -> "Packages":
        """The packages of modules. Made when a module needs them, because what they import would delay the start."""
        if self._packages is None:
            from toolrack_runner.server.packages.packages import Packages

            self._packages = Packages(self.settings.packages, is_for_one_user=self.settings.is_for_one_user)
            if self.pool is not None:
                self._packages.environments.held = self.pool.environments_in_use
        return self._packages

    def require_pool(self) -> Pool:
        """The pool; raises HttpError if this system has none."""
        if self.pool is None:
            raise HttpError("ISOLATION_UNAVAILABLE", f"no user code runs here: {ONLY_LINUX}")
        return self.pool

    async def require_level(self, wanted: str | None) -> str:
        """Waits until the level is measured, and returns it.

        Raises HttpError if it is lower than `wanted` or than the setting.
        """
        measured = (await self.measurement.done()).level
        needed = max(self.settings.min_isolation, wanted or "", key=lambda level: LEVELS.index(level or "L0"))
        if LEVELS.index(measured) < LEVELS.index(needed):
            raise HttpError(
                "ISOLATION_UNAVAILABLE",
                f"isolation {needed} is needed, and this machine was measured at {measured}; "
                "GET /health says which layer is missing, and why",
            )
        return measured

    @asynccontextmanager
    async def place(
        self, queue: FairQueue, tenant: str, what: str, attached: Sequence[Mapping[str, str]] = ()
    ) -> AsyncIterator[None]:
        """Waits until a call or check of this user may run, and counts it as running during the `with` block.

        `what` names the work in messages, such as `calls`. Raises HttpError if too many wait, or if no child can be made, or
        if the calls together have too many files for their arguments (`attached`).
        """
        try:
            # Most calls have no files.
            with self._holding(tenant, attached) if attached else nullcontext():
                async with queue.place(tenant):
                    yield
        except QueueFullError as full:
            sentence = (
                f"{full.count} of your {what} run or wait, as many as one user may have; "
                "try again when one of them has ended"
                if full.is_users_own
                else f"{full.count} {what} of many users wait, which is the limit; try again"
            )
            raise HttpError("RUNNER_BUSY", sentence, retry_after_seconds=full.retry_after_seconds) from None
        except NoEnvironmentError as error:
            raise HttpError("PACKAGES_UNAVAILABLE", f"{error}") from None
        except PoolError as error:
            raise HttpError("RUNNER_UNAVAILABLE", f"{error}", retry_after_seconds=1) from None

    @contextmanager
    def _holding(self, tenant: str, files: Sequence[Mapping[str, str]]) -> Iterator[None]:
        """Counts the files for the arguments of a call during the `with` block. Raises HttpError if there are too many."""
        size = sum(len(file["data"]) for file in files)
        share = ATTACHED_BYTES_MAX if self.settings.is_for_one_user else ATTACHED_BYTES_MAX // 2
        if self._attached[tenant] + size > share or self._attached.total() + size > ATTACHED_BYTES_MAX:
            sentence = "the calls that run or wait have as many files for their arguments as fit into the memory; try again"
            raise HttpError("RUNNER_BUSY", sentence, retry_after_seconds=1)
        self._attached[tenant] += size
        try:
            yield
        finally:
            self._attached[tenant] -= size
            if not self._attached[tenant]:
                del self._attached[tenant]

    def pause_for_server_time(self, queue: FairQueue, tenant: str, server_seconds: float) -> None:
        """Makes a user pause in this queue, if a call or check of the user took too much time of the server process.

        Does nothing if the runner is for one user. Must be called while the call or check still counts as running. Otherwise
        the user's next call could start before the pause.
        """
        excess = server_seconds - SERVER_SECONDS
        if excess > 0 and not self.settings.is_for_one_user:
            queue.pause(tenant, min(excess * PAUSE_TIMES, SERVER_PAUSE_SECONDS_MAX))

    def close(self) -> None:
        self.measurement.close()
        if self._packages is not None:
            self._packages.close()
        if self.pool is not None:
            self.pool.close()
