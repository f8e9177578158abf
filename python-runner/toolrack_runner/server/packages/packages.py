"""The packages of modules: from the head of a module to an environment that its children can have."""

import time
from typing import NamedTuple

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.packages.environments import Environments
from toolrack_runner.server.packages.head import Head
from toolrack_runner.server.packages.lock import Lock
from toolrack_runner.server.packages.policy import require_allowed, require_on, require_small
from toolrack_runner.server.packages.progress import Listener, Progress
from toolrack_runner.server.packages.refusal import PackagesRefusedError, PackagesUnavailableError
from toolrack_runner.server.packages.resolve import PLATFORM, PYTHON, resolve
from toolrack_runner.server.packages.supported import replaced, unsupported
from toolrack_runner.server.packages.uv import Uv
from toolrack_runner.server.pool.fair_queue import THE_SERVICE
from toolrack_runner.wire.fault import Fault, ModuleError

#: The kinds of refusals that come from settings of the operator, which may be newer than the lock of a module.
_OF_THE_OPERATOR = ("packages_off", "packages_denied", "packages_too_large")


def refuse_unsupported(lock: Lock, where: str) -> None:
    """Raises ModuleError if the runner's own code cannot use a library of the lock. `where` is the main file."""
    _refuse(unsupported({each.name: each.version for each in lock.packages}, where))


def _refuse(found: Fault | None) -> None:
    if found is not None:
        raise ModuleError(found)


class Had(NamedTuple):
    """What a module has for its head."""

    lock: Lock
    environment: Environment


class Packages:
    def __init__(
        self, settings: PackageSettings, uv: Uv | None = None, *, is_for_one_user: bool = False
    ) -> None:
        self._settings = settings
        self._uv = uv or Uv(settings)
        self.environments = Environments(settings, self._uv, is_for_one_user=is_for_one_user)

    async def for_module(
        self, head: Head, kept: Lock | None, listener: Listener | None = None, *, user: str = THE_SERVICE
    ) -> Had:
        """The lock and the environment of a module. A kept lock is used if it is for this head and this runner.

        Raises PackagesRefusedError, PackagesUnavailableError, or ModuleError for libraries that the runner cannot use.
        """
        require_on(self._settings)
        require_allowed(self._settings, (each.name for each in head.requirements))
        seconds: float = self._settings.seconds
        if kept is not None and self._fits(kept, head):
            lock = kept
        else:
            lock, spent = await self._resolve(head, listener, user)
            seconds = max(1.0, seconds - spent)
        require_allowed(self._settings, (each.name for each in lock.packages))
        require_small(self._settings, lock.packages)
        refuse_unsupported(lock, head.where)
        environment = await self.environments.for_lock(lock, listener, user=user, build_seconds=seconds)
        _refuse(replaced(environment, head.where))
        return Had(lock, environment)

    async def for_call(
        self, digest: str, lock: Lock | None, seconds: float, *, user: str = THE_SERVICE
    ) -> Environment | None:
        """The environment of a call. None if it has to be built, and the caller has sent no lock.

        Raises PackagesUnavailableError if it cannot be had within `seconds`, and PackagesRefusedError if the operator does
        not allow it any more.
        """
        try:
            require_on(self._settings)
            found = await self.environments.find(digest, user, seconds)
            if found is None:
                if lock is None:
                    return None
                self._require_fit(lock)
                require_allowed(self._settings, (each.name for each in lock.packages))
                require_small(self._settings, lock.packages)
                return await self.environments.for_lock(lock, user=user, seconds=seconds)
            require_allowed(self._settings, found.versions)
        except PackagesRefusedError as refused:
            if refused.kind in _OF_THE_OPERATOR:
                # Callers would repeat an error that may pass, and this one does not until the operator changes a setting.
                raise
            # The module was accepted with these packages, so this is no fault of its author.
            raise PackagesUnavailableError(f"{refused}") from None
        else:
            return found

    def _fits(self, kept: Lock, head: Head) -> bool:
        return (kept.requirements, kept.python, kept.platform) == (head.texts, PYTHON, PLATFORM)

    def _require_fit(self, lock: Lock) -> None:
        if (lock.python, lock.platform) != (PYTHON, PLATFORM):
            raise PackagesUnavailableError(
                f"the packages are locked for Python {lock.python} on {lock.platform}, and the runner has Python "
                f"{PYTHON} on {PLATFORM}. Upload the module again."
            )

    async def _resolve(self, head: Head, listener: Listener | None, user: str) -> tuple[Lock, float]:
        """The lock, and how many seconds it took without the wait for a place."""
        progress = Progress()
        async with progress.heard_by(listener):
            place = self.environments.place_of(user)
            if place.must_wait:
                progress.say("waiting for other installations")
            async with self.environments.work(progress, place) as work:
                began = time.monotonic()
                progress.say("choosing the versions of the packages")
                lock = await resolve(self._uv, self._settings, head, work.folder, work.cache)
                return lock, time.monotonic() - began

    def close(self) -> None:
        self.environments.close()
