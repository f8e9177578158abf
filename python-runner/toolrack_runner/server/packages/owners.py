"""Which users have used an environment. It is remembered on the disk, so that a restart does not forget it."""

import json
from contextlib import suppress
from pathlib import Path

from toolrack_runner.server.packages.folders import Folders, write_whole
from toolrack_runner.server.pool.fair_queue import THE_SERVICE

#: How many users of one environment are remembered. One that so many use is hardly ever the first to be removed.
OWNERS_MAX = 50


class Owners:
    """Every method but `knows` may take long, and runs in a thread."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        #: What this process has noted already.
        self._noted: dict[str, frozenset[str]] = {}

    def knows(self, digest: str, user: str) -> bool:
        """Whether nothing need be noted for this user."""
        noted = self._noted.get(digest, frozenset())
        return user in noted or len(noted) >= OWNERS_MAX

    def of(self, digest: str) -> frozenset[str]:
        """The users of an environment. One that nobody is known to use belongs to the service."""
        return self._read(digest) or frozenset({THE_SERVICE})

    def add(self, digest: str, user: str) -> None:
        """Notes that a user has used an environment."""
        with suppress(OSError), self._folders.exclusive():
            # Noted also if nothing is written: otherwise each call of a user who is not remembered would read the file.
            self._noted[digest] = found = self._read(digest)
            if self._folders.manifest_of(digest).exists() and len(found) < OWNERS_MAX:
                self._write(digest, found | {user})

    def drop(self, digest: str, user: str) -> None:
        """From now on, the environment does not count for this user, until the user uses it again."""
        with suppress(OSError), self._folders.exclusive():
            self._write(digest, self._read(digest) - {user})

    def forget(self, digest: str) -> None:
        """Removes the note. The caller has the lock of the folders."""
        self._noted.pop(digest, None)
        self._file(digest).unlink(missing_ok=True)

    def _read(self, digest: str) -> frozenset[str]:
        with suppress(OSError, ValueError, TypeError):
            return frozenset(str(user) for user in json.loads(self._file(digest).read_bytes()))
        return frozenset()

    def _write(self, digest: str, users: frozenset[str]) -> None:
        write_whole(self._file(digest), json.dumps(sorted(users)))
        self._noted[digest] = users

    def _file(self, digest: str) -> Path:
        return self._folders.manifest_of(digest).with_suffix(".owners")
