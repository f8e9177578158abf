"""The environments of a runner. Each is built once, even if several modules need it at the same time."""

import asyncio
import errno
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.packages.folders import Folders, remove_tree
from toolrack_runner.server.packages.install import install
from toolrack_runner.server.packages.kept import KeptEnvironments
from toolrack_runner.server.packages.lock import Lock
from toolrack_runner.server.packages.places import Waiting, places_for
from toolrack_runner.server.packages.progress import Listener, Progress
from toolrack_runner.server.packages.records import DamagedCacheError
from toolrack_runner.server.packages.refusal import DiskFullError, PackagesUnavailableError
from toolrack_runner.server.packages.uv import Uv
from toolrack_runner.server.pool.fair_queue import THE_SERVICE

#: The cache of uv is removed if it has more bytes that no environment uses than this many environments may have.
CACHE_ENVIRONMENTS_MAX = 2


@dataclass
class _Build:
    task: "asyncio.Task[Environment]"
    place: Waiting
    progress: Progress = field(default_factory=Progress)
    #: How many callers wait for it.
    waiting: int = 0


class Environments:
    def __init__(self, settings: PackageSettings, uv: Uv, *, is_for_one_user: bool = False) -> None:
        self._settings = settings
        self._uv = uv
        self.folders = Folders(settings.folder)
        self._kept = KeptEnvironments(self.folders)
        self._builds: dict[str, _Build] = {}
        self._uses: Counter[str] = Counter()
        self._places = places_for(asyncio.get_running_loop(), is_for_one_user=is_for_one_user)
        self._working = 0
        self._swept: asyncio.Task[None] | None = None
        #: Whether children of the pool have an environment.
        self.is_held: Callable[[str], bool] = lambda _digest: False

    async def find(
        self, digest: str, user: str = THE_SERVICE, seconds: float | None = None
    ) -> Environment | None:
        """The environment of a digest, verified once in this process. None if it has to be built."""
        found = self._kept.verified(digest)
        if found is None and (build := self._builds.get(digest)) is not None:
            found = await self._result(digest, build, user, None, seconds)
        if found is None:
            await self.open()
            found = await asyncio.to_thread(self._kept.verify, digest)
        if found is not None:
            await self._used_by(user, digest)
        return found

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
        self, progress: Progress, place: Waiting, seconds: float | None = None
    ) -> AsyncIterator[Path]:
        """A new folder, when there is a place. It is removed at the end of the `with` block.

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
                self._working += 1
                try:
                    yield folder
                finally:
                    self._working -= 1
                    await asyncio.shield(asyncio.to_thread(remove_tree, folder))
        except TimeoutError:
            raise PackagesUnavailableError(
                f"the packages were not installed within {self._settings.seconds} s (TOOLRACK_PACKAGES_SECONDS). Try again; "
                "what was downloaded is kept."
            ) from None
        except OSError as error:
            raise self._of_disk(error) from None
        finally:
            place.end()

    def place_of(self, user: str) -> Waiting:
        """A request for a place, for `work`. Raises PackagesUnavailableError if too many wait."""
        place = Waiting(self._places)
        place.join(user)
        return place

    async def clear_cache(self) -> None:
        """Removes the cache of uv."""
        aside = self.folders.put_aside(self.folders.cache)
        self.folders.make()
        if aside is not None:
            await asyncio.to_thread(remove_tree, aside)

    def close(self) -> None:
        """Ends all builds. Their processes are killed. Other runners may remove the environments."""
        for build in self._builds.values():
            build.task.cancel()
        self._kept.close()

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
            if not build.waiting and not (is_late and build.place.has_begun) and not build.task.done():
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
            await self.open()
            found = await asyncio.to_thread(self._kept.verify, lock.digest)
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
        try:
            async with self.work(progress, place, seconds) as folder:
                progress.say("installing the packages")
                made = await self._install(lock, folder, progress)
        except DiskFullError:
            # The cache is the largest part that can be made again.
            await self.clear_cache()
            raise
        for user in place.users:
            # Before the count: otherwise the new one would not count for its users.
            await self._used_by(user, lock.digest)
        await asyncio.to_thread(
            self._kept.evict,
            self._settings.count,
            lambda digest: digest == lock.digest or self._is_in_use(digest),
        )
        await self._trim_cache()
        return made

    async def _trim_cache(self) -> None:
        unused = await asyncio.to_thread(self.folders.unused_cache_bytes)
        if unused > CACHE_ENVIRONMENTS_MAX * self._settings.bytes_max and not self._working:
            await self.clear_cache()

    async def _install(self, lock: Lock, folder: Path, progress: Progress) -> Environment:
        try:
            manifest = await install(self._uv, self._settings, lock, folder, progress.say)
        except DamagedCacheError:
            # Some publishers list wrong hashes. So files that were just downloaded with the locked hash are not compared.
            await self.clear_cache()
            await asyncio.to_thread(remove_tree, folder / "target")
            manifest = await install(self._uv, self._settings, lock, folder, progress.say, compares=False)
        return await asyncio.to_thread(self._kept.add, folder / "target", manifest)

    def _is_in_use(self, digest: str) -> bool:
        return self._uses[digest] > 0 or self.is_held(digest)

    async def open(self) -> None:
        """Makes the folders, and removes what runners that were killed have left, once."""
        if self._swept is None or (self._swept.done() and self._swept.exception() is not None):
            self._swept = asyncio.create_task(self._sweep())
        await asyncio.shield(self._swept)

    async def _sweep(self) -> None:
        try:
            self.folders.make()
            for folder in await asyncio.to_thread(self.folders.left_behind):
                await asyncio.to_thread(remove_tree, folder)
        except OSError as error:
            raise self._of_disk(error) from None

    def _of_disk(self, error: OSError) -> PackagesUnavailableError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return DiskFullError()
        reason = error.strerror or type(error).__name__
        return PackagesUnavailableError(
            f"the folder of the packages cannot be used: {reason}. The operator checks TOOLRACK_PACKAGES_DIR of the runner."
        )
