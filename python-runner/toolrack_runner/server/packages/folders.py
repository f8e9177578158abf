"""The folders of the packages on the disk of the runner. Several runners may share them."""

import fcntl
import os
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
        #: Folders that are being filled or removed. Their names begin with the pid of their runner.
        self.work = root / "work"
        self.cache = root / "cache"

    def make(self) -> None:
        """Makes the folders; raises OSError."""
        self.root.mkdir(mode=_MODE_OF_OTHERS, parents=True, exist_ok=True)
        self.environments.mkdir(mode=_MODE_OF_OTHERS, exist_ok=True)
        for own in (self.manifests, self.work, self.cache):
            own.mkdir(mode=_MODE_OF_OWN, exist_ok=True)

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
        folder = self.work / f"{os.getpid()}-{os.urandom(8).hex()}"
        folder.mkdir(mode=_MODE_OF_OWN)
        return folder

    def put_aside(self, folder: Path) -> Path | None:
        """Moves a folder where it can be removed without haste; None if it does not exist."""
        aside = self.work / f"{os.getpid()}-{os.urandom(8).hex()}"
        with suppress(FileNotFoundError):
            # Without this right, an ordinary user cannot move a folder to another one.
            folder.chmod(_MODE_OF_OWN)
            folder.rename(aside)
            return aside
        return None

    def left_behind(self) -> list[Path]:
        """Folders of runners that have ended, and environments that are not complete, as folders to remove."""
        found = []
        with self.exclusive():
            for each in self.work.iterdir():
                pid = each.name.partition("-")[0]
                if not pid.isdigit() or (int(pid) != os.getpid() and not os.path.exists(f"/proc/{pid}")):
                    found.append(each)
            for each in self.environments.iterdir():
                if not (self.manifests / f"{each.name}.json").exists():
                    aside = self.put_aside(each)
                    found += [aside] if aside is not None else []
            # An earlier version of the runner let uv work here.
            found += self.cache.glob(".tmp*")
            for each in self.manifests.glob("*.part"):
                each.unlink(missing_ok=True)
        return found
