"""The environments on the disk: finds, verifies, adds and removes them. Every method may take long, and runs in a thread."""

import fcntl
import logging
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.packages.folders import Folders, is_locked
from toolrack_runner.server.packages.manifest import Manifest, difference, hashes_of, read_manifest
from toolrack_runner.server.packages.owners import Owners
from toolrack_runner.server.packages.tree import remove_tree

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})", re.ASCII)
#: How many seconds pass at least between two notes that an environment was used.
USED_SECONDS = 60.0

_log = logging.getLogger("toolrack_runner")


class KeptEnvironments:
    """The environments that this process has verified are locked against removal by other runners."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self.owners = Owners(folders)
        #: The verified environments, with the descriptor that locks their manifest and when they were used.
        self._verified: dict[str, tuple[Environment, int]] = {}
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    def verified(self, digest: str) -> Environment | None:
        """An environment that this process has verified already. It counts as used now."""
        found = self._verified.get(digest)
        if found is None:
            return None
        if time.monotonic() - self._used.get(digest, 0.0) > USED_SECONDS:
            self._used[digest] = time.monotonic()
            with suppress(OSError):
                os.utime(self._manifest(digest))
        return found[0]

    def verify(self, digest: str) -> Environment | None:
        """Compares an environment with its manifest. One that was changed on the disk is removed. None if there is none."""
        if not _DIGEST.fullmatch(digest):
            return None
        descriptor = self._shared_lock(digest)
        if descriptor is None:
            return None
        manifest = read_manifest(self._manifest(digest))
        if manifest is not None and manifest.environment.digest == digest:
            changed = self._difference(digest, manifest)
            if changed is None:
                with self._lock:
                    self._verified[digest] = manifest.environment, descriptor
                self.verified(digest)
                return manifest.environment
            _log.error(
                "an environment was changed on the disk", extra={"environment": digest, "reason": changed}
            )
        os.close(descriptor)
        self.remove(digest)
        return None

    def add(self, target: Path, manifest: Manifest) -> Environment:
        """Moves a complete environment into its place. If another runner was faster, its environment is used."""
        digest = manifest.environment.digest
        with self._folders.exclusive():
            if not self._manifest(digest).exists():
                leftover = self._folders.put_aside(self._place(digest))
                target.rename(self._place(digest))
                self._place(digest).chmod(0o555)
                manifest.write(self._manifest(digest))
            else:
                leftover = None
        if leftover is not None:
            remove_tree(leftover)
        environment = self.verify(digest)
        if environment is None:
            raise FileNotFoundError(f"the environment {digest} was removed while it was added")
        return environment

    def remove(self, digest: str, *, even_if_used_elsewhere: bool = True) -> bool:
        """Removes an environment. Returns False if another runner uses it, and this matters."""
        with self._lock:
            held = self._verified.pop(digest, None)
            if held is not None:
                os.close(held[1])
        with self._folders.exclusive():
            if not even_if_used_elsewhere and is_locked(self._manifest(digest)):
                return False
            self._manifest(digest).unlink(missing_ok=True)
            self.owners.forget(digest)
            aside = self._folders.put_aside(self._place(digest))
        if aside is not None:
            remove_tree(aside)
        return True

    def evict(self, most: int, is_in_use: Callable[[str], bool]) -> None:
        """Removes environments until at most `most` are left. None in use is removed.

        The user with the most environments loses the one that was unused for longest. One that other users have too is
        only not counted for this user any more.
        """
        found = [
            f"sha256:{each.stem}" for each in sorted(self._folders.manifests.glob("*.json"), key=_used_at)
        ]
        excess = len(found) - most
        if excess <= 0:
            return
        owners = {digest: sorted(self.owners.of(digest)) for digest in found}
        counts = Counter(user for users in owners.values() for user in users)
        unused = [digest for digest in found if not is_in_use(digest)]
        while excess > 0 and unused:
            user, digest = max(
                ((user, digest) for digest in unused for user in owners[digest]),
                key=lambda each: counts[each[0]],
            )
            if len(owners[digest]) > 1:
                owners[digest].remove(user)
                counts[user] -= 1
                self.owners.drop(digest, user)
                continue
            unused.remove(digest)
            if self.remove(digest, even_if_used_elsewhere=False):
                counts[user] -= 1
                excess -= 1

    def close(self) -> None:
        """Other runners may remove all environments of this process from now on."""
        with self._lock:
            for _, descriptor in self._verified.values():
                os.close(descriptor)
            self._verified.clear()

    def _difference(self, digest: str, manifest: Manifest) -> str | None:
        try:
            return difference(manifest.files, hashes_of(self._place(digest)))
        except OSError as error:
            return f"it cannot be read: {error.strerror}"

    def _place(self, digest: str) -> Path:
        return self._folders.environments / digest.removeprefix("sha256:")

    def _manifest(self, digest: str) -> Path:
        return self._folders.manifests / f"{digest.removeprefix('sha256:')}.json"

    def _shared_lock(self, digest: str) -> int | None:
        """A descriptor that keeps other runners from removing the environment; None if there is no manifest."""
        with suppress(OSError), self._folders.exclusive():
            descriptor = os.open(self._manifest(digest), os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return descriptor
        return None


def _used_at(manifest: Path) -> float:
    with suppress(OSError):
        return manifest.stat().st_mtime
    return 0.0
