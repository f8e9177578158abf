"""The wheels and answers of the index that uv has unpacked and read before. Several runners may share them.

No uv works in this cache. Each resolution and each installation has an own copy, of links to the files that it needs. What
it adds is moved into the cache when it has succeeded. So the size of what it writes can be measured, a failure leaves
nothing, and the cache can be removed at any time. An upload takes the same time whatever wheels of others the cache has.
"""

import errno
import fcntl
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.folders import Folders
from toolrack_runner.server.packages.lock import LockedPackage
from toolrack_runner.server.packages.policy import too_large, too_many_files
from toolrack_runner.server.packages.refusal import PackagesRefusedError
from toolrack_runner.server.packages.tidy import require_short_paths
from toolrack_runner.server.packages.tree import entries_in, remove_tree, size_of

#: The cache is removed if it has more bytes or files that no environment uses than this many environments may have.
CACHE_ENVIRONMENTS_MAX = 2
#: The most bytes that uv may keep of the pages of an index. The largest pages have 3 MB, and a module may need 20 of such.
PAGES_BYTES_MAX = 64 << 20
#: How the names of folders of unpacked wheels begin, and those of what uv is writing. All other files are small.
_WHEELS = "archive-"
_WRITING = ".tmp"
#: How the names of the folders in a wheel end that have its metadata.
_INFO = ".dist-info"

_log = logging.getLogger("toolrack_runner")


@dataclass(frozen=True, slots=True)
class OwnCache:
    """The cache of one resolution or installation."""

    folder: Path
    #: The names of the wheels that it had at its start, whole or only their metadata, and the numbers (inodes) of the other
    #: files.
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


class _Measured(NamedTuple):
    """An unpacked wheel of the cache. Its files never change."""

    size: int
    files: int
    #: A file that each environment with this wheel has a link to, but no resolution.
    linked: str

    @property
    def is_used(self) -> bool:
        """Whether an environment has the wheel."""
        with suppress(OSError):
            return os.lstat(self.linked).st_nlink > 1
        return False


class WheelCache:
    def __init__(self, folders: Folders, settings: PackageSettings) -> None:
        self._folders = folders
        self._settings = settings
        #: The unpacked wheels by their names, which are random. To walk all of them at each upload would take seconds.
        self._measured: dict[str, _Measured] = {}

    def lend(self, folder: Path, packages: Iterable[LockedPackage] | None = None) -> OwnCache:
        """Fills a new folder with links to the files of the cache; raises OSError.

        It gets the wheels of the locked packages. For a resolution (None) it gets the metadata of all wheels.
        """
        folder.mkdir(mode=0o700)
        try:
            with self._locked(fcntl.LOCK_SH):
                return self._linked(folder, packages)
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
            # A resolution may unpack more. If an environment has no room for it, the upload is refused, and leaves nothing.
            own.require_room(self._settings, 1)
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
            return
        self.trim()

    def trim(self) -> None:
        """Removes the cache if it has much that no environment uses. Errors are logged."""
        try:
            if self._is_large():
                self.clear()
        except OSError as error:
            _log.warning("the cache of packages was not removed", extra={"reason": error.strerror})

    def lacks_room(self) -> bool:
        """Whether the disk has less room than uv may take for one module, so that uv can have filled it."""
        try:
            disk = os.statvfs(self._folders.root)
        except OSError:
            return False
        lacks_files = disk.f_files > 0 and disk.f_favail < CACHE_ENVIRONMENTS_MAX * self._settings.files_max
        return (
            lacks_files or disk.f_bavail * disk.f_frsize < CACHE_ENVIRONMENTS_MAX * self._settings.bytes_max
        )

    def clear(self) -> None:
        """Removes the cache; raises OSError."""
        with self._locked(fcntl.LOCK_EX):
            aside = self._folders.put_aside(self._folders.cache)
            self._folders.make()
        if aside is not None:
            remove_tree(aside)

    def _linked(self, folder: Path, packages: Iterable[LockedPackage] | None) -> OwnCache:
        wanted = None if packages is None else {(each.name, each.version) for each in packages}
        files, wheels = set[int](), set[str]()
        named = set[str]()
        buckets = _folders(self._folders.cache)
        for bucket in buckets:
            own = folder / bucket.name
            own.mkdir()
            if not bucket.name.startswith(_WHEELS):
                for entry in _link_all(bucket, own):
                    files.add(entry.inode())
                    if wanted is not None and entry.is_symlink() and _is_of(entry.path, wanted):
                        named.add(os.path.basename(os.readlink(entry.path)))
        for bucket in buckets:
            for wheel in _folders(bucket) if bucket.name.startswith(_WHEELS) else ():
                own = folder / bucket.name / wheel.name
                if wanted is None:
                    _link_metadata(wheel, own)
                elif wheel.name in named:
                    own.mkdir()
                    for _ in _link_all(wheel, own):
                        pass
                else:
                    continue
                wheels.add(wheel.name)
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

    def _is_large(self) -> bool:
        size = count = 0
        measured: dict[str, _Measured] = {}
        for bucket in _folders(self._folders.cache):
            if bucket.name.startswith(_WHEELS):
                for wheel in _folders(bucket):
                    found = measured[wheel.name] = self._measured.get(wheel.name) or _measure(wheel)
                    if not found.is_used:
                        size += found.size
                        count += found.files
            else:
                for entry in entries_in(bucket):
                    size += size_of(entry)
                    count += 1
        self._measured = measured
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


def _is_of(path: str, wanted: set[tuple[str, str]]) -> bool:
    """Whether a link of uv to an unpacked wheel, such as `…/alpha/1.0-py3-none-any`, is for one of these packages."""
    folder, _, name = path.rpartition("/")
    return (folder.rpartition("/")[2], name.partition("-")[0]) in wanted


def _link_all(source: Path, target: Path) -> Iterator[os.DirEntry[str]]:
    """Fills a folder with links to the files of another one. Yields the files."""
    start = len(str(source))
    for entry in entries_in(source):
        path = f"{target}{entry.path[start:]}"
        if path.endswith(".lock"):
            # An installation must not wait for another one, whose wheel may be slow.
            continue
        if entry.is_dir(follow_symlinks=False):
            os.mkdir(path)
        else:
            os.link(entry.path, path, follow_symlinks=False)
            yield entry


def _link_metadata(wheel: Path, target: Path) -> None:
    """Gives a folder the metadata of a wheel, which is all that a resolution reads."""
    target.mkdir()
    info = next((each for each in _scanned(wheel) if each.name.endswith(_INFO)), None)
    if info is not None:
        (target / info.name).mkdir()
        with suppress(FileNotFoundError):
            os.link(f"{info.path}/METADATA", target / info.name / "METADATA", follow_symlinks=False)


def _measure(wheel: Path) -> _Measured:
    size = count = 0
    linked = ""
    for entry in entries_in(wheel):
        size += size_of(entry)
        count += 1
        if entry.name == "WHEEL" and os.path.dirname(entry.path).endswith(_INFO):
            linked = entry.path
    return _Measured(size, count, linked)
