"""The environments of a runner. Each is built once, even if several modules need it at the same time."""

import asyncio
import errno
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.packages.folders import Folders
from toolrack_runner.server.packages.install import install
from toolrack_runner.server.packages.kept import KeptEnvironments
from toolrack_runner.server.packages.lock import Lock
from toolrack_runner.server.packages.places import Waiting, places_for
from toolrack_runner.server.packages.progress import Listener, Progress
from toolrack_runner.server.packages.refusal import DiskFullError, PackagesUnavailableError
from toolrack_runner.server.packages.to_the_end import to_the_end
from toolrack_runner.server.packages.tree import remove_tree
from toolrack_runner.server.packages.uv import Uv
from toolrack_runner.server.packages.wheel_cache import OwnCache, WheelCache
from toolrack_runner.server.pool.fair_queue import THE_SERVICE

#: How many seconds after its last verification an environment that is used is verified again. Files of packages change only
#: by accident, so minutes are soon enough.
VERIFY_AGAIN_SECONDS = 600.0
#: How many times longer the pause is than the verification before it. So all of them take at most 1% of a processor.
VERIFY_AGAIN_PAUSES = 100

_log = logging.getLogger("toolrack_runner")


class Work(NamedTuple):
    """What a resolution or an installation has for itself."""

    folder: Path
    cache: OwnCache


@dataclass
class _Build:
    task: "asyncio.Task[Environment]"
    place: Waiting
    progress: Progress = field(default_factory=Progress)
    #: How many callers wait for it.
    waiting: int = 0
    #: Whether a caller whose time was up has left it to go on.
    goes_on: bool = False


class Environments:
    def __init__(self, settings: PackageSettings, uv: Uv, *, is_for_one_user: bool = False) -> None:
        self._settings = settings
        self._uv = uv
        self.folders = Folders(settings.folder)
        self._kept = KeptEnvironments(self.folders)
        self._cache = WheelCache(self.folders, settings)
        self._builds: dict[str, _Build] = {}
        #: The verifications that run now.
        self._verifying: dict[str, asyncio.Task[Environment | None]] = {}
        #: The verification of an environment that is used, and when the next one may begin.
        self._again: asyncio.Task[None] | None = None
        self._again_from = 0.0
        self._uses: Counter[str] = Counter()
        self._places = places_for(asyncio.get_running_loop(), is_for_one_user=is_for_one_user)
        self._swept: asyncio.Task[None] | None = None
        #: The digests of the environments that children of the pool have. Called only in the thread of the event loop.
        self.held: Callable[[], Iterable[str]] = tuple

    async def find(
        self, digest: str, user: str = THE_SERVICE, seconds: float | None = None
    ) -> Environment | None:
        """The environment of a digest, if its folder is the one that this process has verified. None if it has to be built.

        The files are compared again from time to time, behind the calls.
        """
        found = self._kept.verified(digest)
        if found is None and (build := self._builds.get(digest)) is not None:
            found = await self._result(digest, build, user, None, seconds)
        if found is None:
            found = await self._verify(digest)
        if found is not None:
            await self._used_by(user, digest)
            now = time.monotonic()
            is_due = self._kept.verified_at(digest) + VERIFY_AGAIN_SECONDS <= now
            if is_due and self._again is None and self._again_from <= now:
                self._again = asyncio.create_task(self._verify_again(digest))
        return found

    async def _verify_again(self, digest: str) -> None:
        began = time.monotonic()
        try:
            with self.use(digest):
                await self._verify(digest)
        except OSError as error:
            _log.warning("an environment was not verified again", extra={"reason": error.strerror})
        finally:
            now = time.monotonic()
            self._again, self._again_from = None, now + VERIFY_AGAIN_PAUSES * (now - began)

    async def _verify(self, digest: str) -> Environment | None:
        """The environment, if it is on the disk. Callers who need it at the same time share one verification."""
        await self.open()
        running = self._verifying.get(digest)
        if running is None:
            running = asyncio.create_task(asyncio.to_thread(self._kept.verify, digest))
            self._verifying[digest] = running
            running.add_done_callback(lambda _: self._verifying.pop(digest))
        return await asyncio.shield(running)

    async def for_lock(
        self,
        lock: Lock,
        listener: Listener | None = None,
        *,
        user: str = THE_SERVICE,
        seconds: float | None = None,
        build_seconds: float | None = None,
    ) -> Environment:
        """The environment of a lock for a user. Builds it if it is missing, within `build_seconds` after it has begun.

        If all callers are cancelled, the build ends. After `seconds`, this caller stops to wait. Then a build that nobody
        waits for ends if it has not begun. One that has begun goes on, in the place of its user: otherwise a tool whose
        deadline is shorter than the build would never have its packages. Raises PackagesRefusedError or
        PackagesUnavailableError.
        """
        found = self._kept.verified(lock.digest)
        if found is not None:
            await self._used_by(user, lock.digest)
            return found
        build = self._builds.get(lock.digest)
        if build is None:
            progress, place = Progress(), Waiting(self._places)
            place.join(user)
            task = asyncio.create_task(self._make(lock, progress, place, build_seconds))
            build = self._builds[lock.digest] = _Build(task, place, progress)
            task.add_done_callback(lambda ended: self._ended(lock.digest, ended))
        made = await self._result(lock.digest, build, user, listener, seconds)
        await self._used_by(user, lock.digest)
        return made

    async def _used_by(self, user: str, digest: str) -> None:
        if not self._kept.owners.knows(digest, user):
            await asyncio.to_thread(self._kept.owners.add, digest, user)

    @contextmanager
    def use(self, digest: str) -> Iterator[None]:
        """Keeps an environment from being removed during the `with` block."""
        self._uses[digest] += 1
        try:
            yield
        finally:
            self._uses[digest] -= 1
            self._uses += Counter()

    @asynccontextmanager
    async def work(
        self, progress: Progress, place: Waiting, seconds: float | None = None, lock: Lock | None = None
    ) -> AsyncIterator[Work]:
        """A new folder with an own cache, when there is a place. It is removed at the end of the `with` block.

        With a lock, the cache has its wheels, otherwise only the metadata of all wheels.

        What is new in the cache is kept if the block ends without an error.

        Raises PackagesUnavailableError for errors of the disk, and if the time is up, which counts from the place.
        """
        try:
            await self.open()
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(progress.ticking())
                await place.begin()
                await stack.enter_async_context(
                    asyncio.timeout(self._settings.seconds if seconds is None else seconds)
                )
                folder = self.folders.new_work()
                try:
                    cache = await to_the_end(
                        asyncio.to_thread(self._cache.lend, folder / "cache", lock and lock.packages)
                    )
                    try:
                        yield Work(folder, cache)
                    except asyncio.CancelledError:
                        # The time is up, or all callers have left. The next one goes on with the wheels that are complete.
                        await to_the_end(asyncio.to_thread(self._cache.keep, cache))
                        raise
                    await to_the_end(asyncio.to_thread(self._cache.keep, cache))
                finally:
                    await asyncio.shield(asyncio.to_thread(remove_tree, folder))
        except TimeoutError:
            raise PackagesUnavailableError(
                f"the packages were not installed within {self._settings.seconds} s (TOOLRACK_PACKAGES_SECONDS). Try again; "
                "what was downloaded is kept."
            ) from None
        except (OSError, DiskFullError) as error:
            failure = error if isinstance(error, DiskFullError) else self._of_disk(error)
            if isinstance(failure, DiskFullError) and (
                isinstance(error, OSError) or self._cache.lacks_room()
            ):
                # The cache is the largest part that can be made again. It belongs to all users, so the words of uv alone
                # are no reason to remove it: they may repeat texts of packages.
                with suppress(OSError):
                    await asyncio.to_thread(self._cache.clear)
            raise failure from None
        finally:
            place.end()

    def place_of(self, user: str) -> Waiting:
        """A request for a place, for `work`. Raises PackagesUnavailableError if too many wait."""
        place = Waiting(self._places)
        place.join(user)
        return place

    def close(self) -> None:
        """Ends all builds. Their processes are killed. Other runners may remove the environments."""
        for build in self._builds.values():
            build.task.cancel()
        if self._again is not None:
            self._again.cancel()
        self._kept.close()
        self.folders.close()

    async def _result(
        self,
        digest: str,
        build: _Build,
        user: str,
        listener: Listener | None,
        seconds: float | None,
    ) -> Environment:
        with suppress(PackagesUnavailableError):
            # If too many of this user's wait, the build still comes in the turn of those who asked for it before.
            build.place.join(user)
        build.waiting += 1
        is_late = False
        try:
            async with build.progress.heard_by(listener):
                done, _ = await asyncio.wait((build.task,), timeout=seconds)
                is_late = not done
        finally:
            build.waiting -= 1
            build.goes_on |= is_late and build.place.has_begun
            if not build.waiting and not build.goes_on and not build.task.done():
                # Nobody may join a build that ends.
                self._builds.pop(digest, None)
                build.task.cancel()
        if is_late:
            raise PackagesUnavailableError("the packages of the module are still being installed. Try again.")
        try:
            return build.task.result()
        except asyncio.CancelledError:
            raise PackagesUnavailableError("the installation of the packages was ended. Try again.") from None

    def _ended(self, digest: str, task: "asyncio.Task[Environment]") -> None:
        build = self._builds.get(digest)
        if build is not None and build.task is task:
            del self._builds[digest]
        if not task.cancelled():
            # Asyncio logs an exception that nobody has read.
            task.exception()

    async def _make(
        self, lock: Lock, progress: Progress, place: Waiting, seconds: float | None
    ) -> Environment:
        try:
            found = await self._verify(lock.digest)
            if found is not None:
                return found
            if place.must_wait:
                progress.say("waiting for other installations")
            return await self._built(lock, progress, place, seconds)
        finally:
            place.end()

    async def _built(
        self, lock: Lock, progress: Progress, place: Waiting, seconds: float | None
    ) -> Environment:
        async with self.work(progress, place, seconds, lock) as work:
            progress.say("installing the packages")
            made = await self._install(lock, work, progress)
        for user in place.users:
            # Before the count: otherwise the new one would not count for its users.
            await self._used_by(user, lock.digest)
        in_use = frozenset({lock.digest, *self._uses, *self.held()})
        if await asyncio.to_thread(self._kept.evict, self._settings.count, in_use):
            await asyncio.to_thread(self._cache.trim)
        return made

    async def _install(self, lock: Lock, work: Work, progress: Progress) -> Environment:
        folder, cache = work
        made = await install(self._uv, self._settings, lock, folder, cache, progress.say)
        if not made.is_as_listed:
            # A file of the cache was changed on the disk, or a publisher lists wrong files. So everything is downloaded
            # again. It is kept only if its list is right now: a wheel with a wrong one must not cost others anything.
            await asyncio.to_thread(remove_tree, folder / "target")
            await asyncio.to_thread(remove_tree, cache.folder)
            cache.folder.mkdir()
            fresh = OwnCache(cache.folder)
            made = await install(self._uv, self._settings, lock, folder, fresh, progress.say)
            if not made.is_as_listed:
                await asyncio.to_thread(remove_tree, cache.folder)
        return await asyncio.to_thread(self._kept.add, folder / "target", made.manifest)

    async def open(self) -> None:
        """Makes the folders, and removes what runners that were killed have left, once."""
        if self._swept is None or (self._swept.done() and self._swept.exception() is not None):
            self._swept = asyncio.create_task(self._sweep())
        await asyncio.shield(self._swept)

    async def _sweep(self) -> None:
        try:
            await asyncio.to_thread(self.folders.open)
        except OSError as error:
            raise self._of_disk(error) from None
        try:
            for folder in await asyncio.to_thread(self.folders.left_behind):
                await asyncio.to_thread(remove_tree, folder)
        except OSError as error:
            # What is left takes room, and hurts nobody.
            _log.warning("leftovers of packages were not removed", extra={"reason": error.strerror})

    def _of_disk(self, error: OSError) -> PackagesUnavailableError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return DiskFullError()
        reason = error.strerror or type(error).__name__
        return PackagesUnavailableError(
            f"the folder of the packages cannot be used: {reason}. The operator checks TOOLRACK_PACKAGES_DIR of the runner."
        )
