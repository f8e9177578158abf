"""The wheels and answers of the index that uv has unpacked and read before. Several runners may share them.

No uv works in this cache. Each resolution and each installation has an own copy, of links to the files. What it adds is
moved into the cache when it has succeeded. So the size of what it writes can be measured, a failure leaves nothing, and the
cache can be removed at any time.
"""

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.folders import Folders
from toolrack_runner.server.packages.policy import too_large, too_many_files
from toolrack_runner.server.packages.refusal import PackagesRefusedError
from toolrack_runner.server.packages.tidy import require_short_paths
from toolrack_runner.server.packages.tree import entries_in, files_in, remove_tree, size_of

#: The cache is removed if it has more bytes or files that no environment uses than this many environments may have.
CACHE_ENVIRONMENTS_MAX = 2
#: The most bytes that uv may keep of the pages of an index. The largest pages have 3 MB, and a module may need 20 of such.
PAGES_BYTES_MAX = 64 << 20
#: How the names of folders of unpacked wheels begin, and those of what uv is writing. All other files are small.
_WHEELS = "archive-"
_WRITING = ".tmp"

_log = logging.getLogger("toolrack_runner")


@dataclass(frozen=True, slots=True)
class OwnCache:
    """The cache of one resolution or installation."""

    folder: Path
    #: The names of the unpacked wheels that it had at its start, and the numbers (inodes) of the other files.
    wheels: frozenset[str] = frozenset()
    files: frozenset[int] = frozenset()

    @property
    def has_wheels(self) -> bool:
        """Whether wheels were unpacked before."""
        return bool(self.wheels)

    def require_room(self, settings: PackageSettings, environments: int) -> None:
        """Raises PackagesRefusedError if what uv has added is larger than so many environments may be, or has a bad path."""
        size = count = pages = loose = 0
        for entry in _scanned(self.folder):
            if not entry.is_dir(follow_symlinks=False):
                # For example, a wheel that can only be unpacked when all of it is there.
                loose += size_of(entry)
        seen = set[int]()
        for top, is_wheel in self.added():
            if is_wheel:
                with suppress(FileNotFoundError):
                    number = top.stat().st_ino
                    if number in seen:
                        # uv has renamed it meanwhile.
                        continue
                    seen.add(number)
                require_short_paths(top)
            for entry in entries_in(top):
                if is_wheel:
                    count += 1
                    size += size_of(entry)
                elif entry.inode() not in self.files:
                    pages += size_of(entry)
        most = environments * settings.bytes_max
        if size > most or loose > most or pages > PAGES_BYTES_MAX:
            raise too_large(settings, "the packages take more room when they are unpacked")
        if count > environments * settings.files_max:
            raise too_many_files(settings, count)

    def added(self) -> Iterator[tuple[Path, bool]]:
        """The folders that may have new files, and whether each is a new wheel or part of one."""
        for bucket in _folders(self.folder):
            if bucket.name.startswith(_WHEELS):
                for wheel in _folders(bucket):
                    if wheel.name not in self.wheels:
                        yield wheel, True
            else:
                yield bucket, bucket.name.startswith(_WRITING)


class WheelCache:
    def __init__(self, folders: Folders, settings: PackageSettings) -> None:
        self._folders = folders
        self._settings = settings

    def lend(self, folder: Path) -> OwnCache:
        """Fills a new folder with links to the files of the cache; raises OSError."""
        folder.mkdir(mode=0o700)
        try:
            with self._locked(fcntl.LOCK_SH):
                return self._linked(folder)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            # For example, the file system has no links. Then everything is downloaded again.
            _log.warning("the cache of packages cannot be used", extra={"reason": error.strerror})
            remove_tree(folder)
            folder.mkdir(mode=0o700)
            return OwnCache(folder)

    def keep(self, own: OwnCache) -> None:
        """Moves what was added into the cache, and removes the cache if it is too large. Errors are logged."""
        try:
            own.require_room(self._settings, CACHE_ENVIRONMENTS_MAX)
            with self._locked(fcntl.LOCK_EX):
                # Wheels first, because the other files name them.
                for top, is_wheel in sorted(own.added(), key=lambda each: not each[1]):
                    if is_wheel and not top.name.startswith(_WRITING):
                        self._add_wheel(top)
                    elif not is_wheel:
                        self._add_files(top, own)
        except OSError as error:
            _log.warning("packages were not added to the cache", extra={"reason": error.strerror})
        except PackagesRefusedError:
            # The work was ended before its size was measured.
            return
        self.trim()

    def trim(self) -> None:
        """Removes the cache if it has much that no environment uses. Errors are logged."""
        try:
            used = frozenset[int]()
            if self._is_large(used):
                used = frozenset(each.inode() for each in files_in(self._folders.environments))
                if self._is_large(used):
                    self.clear()
        except OSError as error:
            _log.warning("the cache of packages was not removed", extra={"reason": error.strerror})

    def clear(self) -> None:
        """Removes the cache; raises OSError."""
        with self._locked(fcntl.LOCK_EX):
            aside = self._folders.put_aside(self._folders.cache)
            self._folders.make()
        if aside is not None:
            remove_tree(aside)

    def _linked(self, folder: Path) -> OwnCache:
        start = len(str(self._folders.cache))
        wheels, files = set[str](), set[int]()
        for entry in entries_in(self._folders.cache):
            path = entry.path[start:]
            parts = path.split("/")
            if parts[1].startswith(_WRITING) or path.endswith(".lock"):
                # Locks too: an installation must not wait for another one, whose wheel may be slow.
                continue
            if entry.is_dir(follow_symlinks=False):
                os.mkdir(f"{folder}{path}")
                if len(parts) == 3 and parts[1].startswith(_WHEELS):
                    wheels.add(parts[2])
            else:
                os.link(entry.path, f"{folder}{path}", follow_symlinks=False)
                if not parts[1].startswith(_WHEELS):
                    files.add(entry.inode())
        return OwnCache(folder, frozenset(wheels), frozenset(files))

    def _add_wheel(self, wheel: Path) -> None:
        bucket = self._folders.cache / wheel.parent.name
        bucket.mkdir(exist_ok=True)
        wheel.rename(bucket / wheel.name)

    def _add_files(self, top: Path, own: OwnCache) -> None:
        start = len(str(own.folder))
        (self._folders.cache / top.name).mkdir(exist_ok=True)
        for entry in entries_in(top):
            place = f"{self._folders.cache}{entry.path[start:]}"
            if entry.is_dir(follow_symlinks=False):
                os.makedirs(place, exist_ok=True)
            elif entry.inode() not in own.files and not entry.name.endswith(".lock"):
                os.replace(entry.path, place)

    def _is_large(self, used: frozenset[int]) -> bool:
        size = count = 0
        for entry in entries_in(self._folders.cache):
            if entry.inode() not in used:
                size += size_of(entry)
                count += 1
        most = self._settings.bytes_max, self._settings.files_max
        return size > CACHE_ENVIRONMENTS_MAX * most[0] or count > CACHE_ENVIRONMENTS_MAX * most[1]

    @contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        descriptor = os.open(self._folders.root / "cache.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, kind)
            yield
        finally:
            os.close(descriptor)


def _scanned(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def _folders(folder: Path) -> list[Path]:
    return [Path(each.path) for each in _scanned(folder) if each.is_dir(follow_symlinks=False)]
