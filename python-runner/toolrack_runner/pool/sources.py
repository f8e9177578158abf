"""The sources that callers sent, by their sha256: what an instance can run without being sent it again."""

import hashlib
from collections import OrderedDict
from typing import NamedTuple

from toolrack_runner.pool.fair_budget import FairBudget

#: Sources kept: 64 MB hold 250 modules of the largest size.
BYTES_MAX = 64 << 20


class _Held(NamedTuple):
    source: str
    bytes: int
    #: Who sent it first. Others who have the same source use it too.
    user: str


class Sources:
    """Of the user who has the most, those go first that were used longest ago."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._budget = FairBudget(bytes_max)
        self._held: OrderedDict[str, _Held] = OrderedDict()

    def find(self, sha256: str) -> str | None:
        """The source of that digest, if it is still here."""
        found = self._held.get(sha256)
        if found is None:
            return None
        self._held.move_to_end(sha256)
        return found.source

    def keep(self, user: str, sha256: str, source: str) -> None:
        """Keeps what the user sent; the digest is its own (`is_digest_of`)."""
        if self.find(sha256) is not None:
            return
        self._held[sha256] = held = _Held(source, len(_data(source)), user)
        self._budget.add(user, held.bytes)
        while (greediest := self._budget.greediest) is not None:
            oldest = next(digest for digest, other in self._held.items() if other.user == greediest)
            self._budget.add(greediest, -self._held.pop(oldest).bytes)


def is_digest_of(source: str, sha256: str) -> bool:
    """Whether it is this source's."""
    return hashlib.sha256(_data(source)).hexdigest() == sha256


def _data(source: str) -> bytes:
    return source.encode("utf-8", "surrogatepass")
