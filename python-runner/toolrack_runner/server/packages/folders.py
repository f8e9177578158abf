"""The folders of the packages on the disk of the runner. Several runners may share them."""

import fcntl
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MODE_OF_OTHERS = 0o755
_MODE_OF_OWN = 0o700


class Folders:
    """`environments` is the only folder that children see. The others are of the server process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        #: The environments, each in a folder that is named after its digest.
        self.environments = root / "environments"
        #: A manifest for each environment that is complete.
        self.manifests = root / "manifests"
        #: Folders that are being filled or removed. Their names begin with the name of their runner.
        self.work = root / "work"
        #: A file for each runner, which it keeps locked while it runs. A pid would not do: after a restart of the machine or
        #: of a container, another runner has the same one.
        self.runners = root / "runners"
        self._name = os.urandom(8).hex()
        #: Unlocks the file of this runner; None before `open`.
        self._unlock: weakref.finalize[[int], Folders] | None = None
        self.cache = root / "cache"

    def make(self) -> None:
        """Makes the folders; raises OSError."""
        self.root.mkdir(mode=_MODE_OF_OTHERS, parents=True, exist_ok=True)
        self.environments.mkdir(mode=_MODE_OF_OTHERS, exist_ok=True)
        for own in (self.manifests, self.work, self.cache, self.runners):
            own.mkdir(mode=_MODE_OF_OWN, exist_ok=True)

    def open(self) -> None:
        """Makes the folders, and locks the file of this runner: others leave its folders alone. Raises OSError."""
        self.make()
        if self._unlock is None:
            with self.exclusive():
                descriptor = os.open(self._lock_of(self._name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                self._unlock = weakref.finalize(self, os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX)

    def close(self) -> None:
        """Other runners may remove what this one fills or removes."""
        if self._unlock is not None:
            self._unlock()

    @property
    def has_leftovers(self) -> bool:
        """Whether a runner may have left something in the middle of its work."""
        with suppress(OSError):
            return any(self.work.iterdir())
        return False

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keeps other runners from adding or removing environments meanwhile. Only for what takes milliseconds."""
        descriptor = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def new_work(self) -> Path:
        """A new folder to fill."""
        folder = self.work / f"{self._name}-{os.urandom(8).hex()}"
        folder.mkdir(mode=_MODE_OF_OWN)
        return folder

    def put_aside(self, folder: Path) -> Path | None:
        """Moves a folder where it can be removed without haste; None if it does not exist."""
        aside = self.work / f"{self._name}-{os.urandom(8).hex()}"
        with suppress(FileNotFoundError):
            # Without this right, an ordinary user cannot move a folder to another one.
            folder.chmod(_MODE_OF_OWN)
            folder.rename(aside)
            return aside
        return None

    def left_behind(self) -> list[Path]:
        """Folders of runners that have ended, and environments that are not complete, as folders to remove."""
        found: list[Path] = []
        with self.exclusive():
            found += [
                each for each in self.work.iterdir() if not self._is_running(each.name.partition("-")[0])
            ]
            for each in self.runners.iterdir():
                if not self._is_running(each.stem):
                    each.unlink(missing_ok=True)
            for each in self.environments.iterdir():
                if not (self.manifests / f"{each.name}.json").exists():
                    aside = self.put_aside(each)
                    found += [aside] if aside is not None else []
            for each in self.manifests.glob("*.part"):
                each.unlink(missing_ok=True)
        return found

    def place_of(self, digest: str) -> Path:
        """The folder of an environment."""
        return self.environments / digest.removeprefix("sha256:")

    def manifest_of(self, digest: str) -> Path:
        """The manifest of an environment."""
        return self.manifests / f"{digest.removeprefix('sha256:')}.json"

    def _lock_of(self, runner: str) -> Path:
        return self.runners / f"{runner}.lock"

    def _is_running(self, runner: str) -> bool:
        """Whether a runner has not ended. The caller has the exclusive lock, so no runner starts meanwhile."""
        if runner == self._name:
            return True
        return is_locked(self._lock_of(runner))


def write_whole(path: Path, text: str) -> None:
    """Writes a file so that a reader finds all of it or nothing."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def is_locked(path: Path) -> bool:
    """Whether a process holds a lock of this file. False if there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
