"""The environments on the disk: finds, verifies, adds and removes them. Every method may take long, and runs in a thread."""

import fcntl
import logging
import math
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.packages.folders import Folders, is_locked
from toolrack_runner.server.packages.manifest import Manifest, difference, hashes_of, read_manifest
from toolrack_runner.server.packages.owners import Owners
from toolrack_runner.server.packages.tree import remove_tree

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})", re.ASCII)
#: How many seconds pass at least between two notes that an environment was used.
USED_SECONDS = 60.0

_log = logging.getLogger("toolrack_runner")


class _Identity(NamedTuple):
    """Changes if a folder is exchanged, moved, or gets or loses an entry, also if the times of the folder are set back."""

    inode: int
    changed_at: int


class _Verified(NamedTuple):
    environment: Environment
    #: The descriptor that locks the manifest.
    lock: int
    #: What the folder was before its files were compared.
    identity: _Identity
    verified_at: float


class KeptEnvironments:
    """The environments that this process has verified are locked against removal by other runners."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self.owners = Owners(folders)
        self._verified: dict[str, _Verified] = {}
        #: When the verified environments were used.
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    def verified(self, digest: str) -> Environment | None:
        """An environment that this process has verified already. It counts as used now.

        None if its folder is not the one that was verified. This is asked for each call, so the files are not compared.
        """
        found = self._verified.get(digest)
        if found is None:
            return None
        if self._identity(digest) != found.identity:
            self._let_go(digest)
            return None
        if time.monotonic() - self._used.get(digest, 0.0) > USED_SECONDS:
            self._used[digest] = time.monotonic()
            with suppress(OSError):
                os.utime(self._folders.manifest_of(digest))
        return found.environment

    def verified_at(self, digest: str) -> float:
        """When a verified environment was compared with its manifest; the end of time for any other."""
        found = self._verified.get(digest)
        return math.inf if found is None else found.verified_at

    def verify(self, digest: str) -> Environment | None:
        """Compares an environment with its manifest. One that was changed on the disk is removed. None if there is none."""
        if not _DIGEST.fullmatch(digest):
            return None
        descriptor = self._shared_lock(digest)
        if descriptor is None:
            return None
        identity = self._identity(digest)
        manifest = read_manifest(self._folders.manifest_of(digest))
        if manifest is not None and manifest.environment.digest == digest:
            changed = self._difference(digest, manifest)
            if changed is None and identity is not None:
                return self._hold(manifest.environment, descriptor, identity)
            _log.error(
                "an environment was changed on the disk", extra={"environment": digest, "reason": changed}
            )
        os.close(descriptor)
        self.remove(digest)
        return None

    def add(self, target: Path, manifest: Manifest) -> Environment:
        """Moves a complete environment into its place. If another runner was faster, its environment is used."""
        digest = manifest.environment.digest
        leftover = None
        with self._folders.exclusive():
            is_first = not self._folders.manifest_of(digest).exists()
            if is_first:
                leftover = self._folders.put_aside(self._folders.place_of(digest))
                target.rename(self._folders.place_of(digest))
                self._folders.place_of(digest).chmod(0o555)
                manifest.write(self._folders.manifest_of(digest))
        if leftover is not None:
            remove_tree(leftover)
        # The hashes of this manifest were made just now, so they are not compared again.
        if is_first and (descriptor := self._shared_lock(digest)) is not None:
            if (identity := self._identity(digest)) is not None:
                return self._hold(manifest.environment, descriptor, identity)
            os.close(descriptor)
        environment = self.verify(digest)
        if environment is None:
            raise FileNotFoundError(f"the environment {digest} was removed while it was added")
        return environment

    def remove(self, digest: str, *, even_if_used_elsewhere: bool = True) -> bool:
        """Removes an environment. Returns False if another runner uses it, and this matters."""
        self._let_go(digest)
        with self._folders.exclusive():
            if not even_if_used_elsewhere and is_locked(self._folders.manifest_of(digest)):
                return False
            self._folders.manifest_of(digest).unlink(missing_ok=True)
            self.owners.forget(digest)
            aside = self._folders.put_aside(self._folders.place_of(digest))
        if aside is not None:
            remove_tree(aside)
        return True

    def evict(self, most: int, in_use: Collection[str]) -> bool:
        """Removes environments until at most `most` are left, but none in use. Returns whether any was removed.

        The user with the most environments loses the one that was unused for longest. One that other users have too is
        only not counted for this user any more.
        """
        found = [
            f"sha256:{each.stem}" for each in sorted(self._folders.manifests.glob("*.json"), key=_used_at)
        ]
        excess = len(found) - most
        if excess <= 0:
            return False
        owners = {digest: sorted(self.owners.of(digest)) for digest in found}
        counts = Counter(user for users in owners.values() for user in users)
        unused = [digest for digest in found if digest not in in_use]
        is_any_removed = False
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
                is_any_removed = True
        return is_any_removed

    def close(self) -> None:
        """Other runners may remove all environments of this process from now on."""
        with self._lock:
            for each in self._verified.values():
                os.close(each.lock)
            self._verified.clear()

    def _hold(self, environment: Environment, lock: int, identity: _Identity) -> Environment:
        self._let_go(environment.digest)
        with self._lock:
            self._verified[environment.digest] = _Verified(environment, lock, identity, time.monotonic())
        self.verified(environment.digest)
        return environment

    def _let_go(self, digest: str) -> None:
        with self._lock:
            held = self._verified.pop(digest, None)
            if held is not None:
                os.close(held.lock)

    def _identity(self, digest: str) -> _Identity | None:
        """None if the environment has no folder."""
        with suppress(OSError):
            found = os.stat(self._folders.place_of(digest))
            return _Identity(found.st_ino, found.st_ctime_ns)
        return None

    def _difference(self, digest: str, manifest: Manifest) -> str | None:
        try:
            return difference(manifest.files, hashes_of(self._folders.place_of(digest)))
        except OSError as error:
            return f"it cannot be read: {error.strerror}"

    def _shared_lock(self, digest: str) -> int | None:
        """A descriptor that keeps other runners from removing the environment; None if there is no manifest."""
        with suppress(OSError), self._folders.exclusive():
            descriptor = os.open(self._folders.manifest_of(digest), os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return descriptor
        return None


def _used_at(manifest: Path) -> float:
    with suppress(OSError):
        return manifest.stat().st_mtime
    return 0.0
