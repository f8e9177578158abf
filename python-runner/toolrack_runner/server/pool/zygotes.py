"""The zygotes: a plain one that has imported no packages, and one for each set of packages that modules import."""

import asyncio
import logging
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection
from pathlib import Path

from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.pool.children import Children
from toolrack_runner.server.pool.preloaded import fits, installed_distributions, normalised
from toolrack_runner.server.pool.spawn_zygote import spawn_zygote
from toolrack_runner.server.pool.worker import Worker
from toolrack_runner.server.pool.zygote_process import ZygoteProcess
from toolrack_runner.wire.zygote_messages import Opening, Ready, ZygoteChannel

#: How many zygotes with packages may exist. A module chooses the packages, and each zygote needs memory for its packages.
WITH_PACKAGES_MAX = 4
#: The pauses before each new start of the plain zygote after it has died. The last pause is repeated.
RESTART_SECONDS = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0)
#: The most time that a zygote with packages may take until it is ready.
IMPORT_SECONDS = 60.0
#: If a plain zygote has lived longer than this, the next pause is again the first of RESTART_SECONDS.
HEALTHY_SECONDS = 60.0

#: The names of packages that a zygote has preloaded.
Packages = frozenset[str]
PLAIN: Packages = frozenset()

_log = logging.getLogger("toolrack_runner")


def installed_packages(preload: Collection[str] | None = None) -> Packages:
    """The top-level names of installed packages, without the standard library. Imports nothing.

    If `preload` is not None, only those that it names: by the name of the package, or by the name that is imported.
    """
    if preload is not None:
        named = {*preload, *map(normalised, preload)}
        return frozenset(
            top
            for top, owners in installed_distributions().items()
            if named and top.isidentifier() and (top in named or any(owner in named for owner, _ in owners))
        )
    names: set[str] = set()
    for folder in map(Path, sys.path):
        if folder.name in ("site-packages", "dist-packages") and folder.is_dir():
            for entry in folder.iterdir():
                is_package = entry.is_dir() and "." not in entry.name
                if is_package or entry.suffix in (".py", ".so"):
                    names.add(entry.name.partition(".")[0])
    return frozenset(filter(str.isidentifier, names - sys.stdlib_module_names))


class ZygoteOwners:
    """The user that owns each zygote with packages. Decides which zygote ends when there are too many:

    - If another user has more zygotes than the user of the new zygote would have: a zygote of the user with the most.
    - Otherwise a zygote of the user of the new zygote or, if this user has none, a zygote of any user.
    - If several zygotes could end by these rules: the one of them that was used longest ago.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._owners: OrderedDict[Packages, str] = OrderedDict()

    def used(self, packages: Packages) -> None:
        """Notes that a child is forked from the zygote with these packages."""
        if packages in self._owners:
            self._owners.move_to_end(packages)

    def asked(self, user: str, packages: Packages) -> None:
        """Notes that a user wants an existing zygote. If its owner has more zygotes than this user, the owner changes.

        With the old owner, the zygote could end because of new zygotes of the old owner.
        """
        owned = Counter(self._owners.values())
        if owned[user] < owned[self._owners[packages]]:
            self._owners[packages] = user

    def add(self, user: str, packages: Packages) -> Packages | None:
        """Adds a zygote of the user. If there are too many, returns the packages of the one that has to end."""
        ends = self._in_excess(user) if len(self._owners) >= self._most else None
        if ends is not None:
            self.remove(ends)
        self._owners[packages] = user
        return ends

    def remove(self, packages: Packages) -> str | None:
        """Removes a zygote, and returns its user; None if there is no such zygote."""
        return self._owners.pop(packages, None)

    def _in_excess(self, user: str) -> Packages:
        owned = Counter(self._owners.values())
        most = max(owned.values())
        if most > owned[user] + 1:
            users = {other for other, count in owned.items() if count == most}
        else:
            users = {user} if owned[user] else set(owned)
        return next(packages for packages, owner in self._owners.items() if owner in users)


class Zygotes:
    """Starts zygotes, restarts the plain one when it dies, and chooses one for a module."""

    def __init__(
        self,
        opening: Opening,
        first: tuple[int, ZygoteChannel] | None,
        children: Children[Worker, ZygoteProcess],
        on_retired: Callable[[ZygoteProcess], None],
    ) -> None:
        self._opening = opening
        self._children = children
        self._on_retired = on_retired
        self._by_packages: dict[Packages, ZygoteProcess] = {}
        self._owners = ZygoteOwners(WITH_PACKAGES_MAX)
        #: Packages that no zygote imports any more. Each child has to import them itself.
        self._unfit: set[str] = set()
        self._failures = 0
        self._started_at = 0.0
        self._is_closed = False
        self._loop = asyncio.get_running_loop()
        self.plain_is_ready = asyncio.Event()
        self._start(PLAIN, first)

    async def plain_ready(self) -> Ready:
        """Waits until a plain zygote is ready. Returns its answer to its `Opening`."""
        await self.plain_is_ready.wait()
        return await self._by_packages[PLAIN].ready

    def choose(self, packages: Packages, environment: Environment | None = None) -> ZygoteProcess | None:
        """The zygote with these packages, if it is ready. Otherwise the plain one. None if neither is ready.

        For a child with an environment, a zygote that has imported something else than the environment has is left out.
        """
        for wanted in (packages - self._unfit, PLAIN):
            zygote = self._by_packages.get(wanted)
            if zygote is None or not zygote.is_ready:
                continue
            # What its packages have imported is only known now.
            if (
                environment is not None
                and wanted
                and not fits(environment, zygote.loaded, installed_distributions())
            ):
                continue
            self._owners.used(wanted)
            return zygote
        return None

    def prepare(self, user: str, packages: Packages) -> None:
        """Starts a zygote with these packages for a user's module, if there is none."""
        packages -= self._unfit
        if self._is_closed or not packages:
            return
        if packages in self._by_packages:
            self._owners.asked(user, packages)
            return
        ends = self._owners.add(user, packages)
        if ends is not None:
            retired = self._by_packages.pop(ends)
            self._on_retired(retired)
            retired.retire()
        self._start(packages)

    def probe_no_more(self) -> None:
        """Zygotes that start from now on try no attacks, because the level was measured already."""
        self._opening = self._opening._replace(canaries=None)

    def close(self) -> None:
        """Closes all zygotes, and waits until they have ended, because until then they may make or remove folders."""
        self._is_closed = True
        for zygote in self._by_packages.values():
            zygote.close()
        for zygote in self._by_packages.values():
            zygote.wait()

    def _start(self, packages: Packages, started: tuple[int, ZygoteChannel] | None = None) -> None:
        if self._is_closed or packages in self._by_packages:
            return
        if not packages:
            self._started_at = self._loop.time()
        zygote = ZygoteProcess(started or self._spawn(packages), self._children, self._lost)
        self._by_packages[packages] = zygote
        zygote.ready.add_done_callback(lambda ready: self._became_ready(packages, ready))
        if packages:
            self._loop.call_later(IMPORT_SECONDS, zygote.give_up, IMPORT_SECONDS)

    def _spawn(self, packages: Packages) -> tuple[int, ZygoteChannel]:
        pid, socket = spawn_zygote()
        channel = ZygoteChannel(socket)
        canaries = None if packages else self._opening.canaries
        channel.open(self._opening._replace(preload=tuple(sorted(packages)), canaries=canaries))
        return pid, channel

    def _became_ready(self, packages: Packages, ready: asyncio.Future[Ready]) -> None:
        if ready.cancelled() or ready.exception() is not None:
            return
        if not packages:
            self.plain_is_ready.set()

    def _lost(self, zygote: ZygoteProcess) -> None:
        self._children.lost(zygote)
        packages = next((key for key, other in self._by_packages.items() if other is zygote), None)
        if packages is None or self._is_closed:
            return
        del self._by_packages[packages]
        owner = self._owners.remove(packages)
        if zygote.unfit and owner is not None:
            # A new zygote imports the other packages. In the old one, a package may be imported only partly.
            for name, reason in zygote.unfit.items():
                _log.warning("a package is imported in each call", extra={"package": name, "reason": reason})
            self._unfit.update(zygote.unfit)
            self.prepare(owner, packages)
            return
        _log.error("a zygote died", extra={"packages": sorted(packages)})
        if packages:
            return  # A zygote with these packages is started again at the next call of a module that imports them.
        self.plain_is_ready.clear()
        if self._loop.time() - self._started_at > HEALTHY_SECONDS:
            self._failures = 0
        pause = RESTART_SECONDS[min(self._failures, len(RESTART_SECONDS) - 1)]
        self._failures += 1
        self._loop.call_later(pause, self._start, PLAIN)
