"""The sources that callers sent, by their sha256: what an instance can run without being sent it again."""

import hashlib
from collections import OrderedDict

#: Sources kept: 64 MB hold 250 modules of the largest size.
BYTES_MAX = 64 << 20


class Sources:
    """The least recently used goes first."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._held: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def find(self, sha256: str) -> str | None:
        """The source of that digest, if it is still here."""
        found = self._held.get(sha256)
        if found is None:
            return None
        self._held.move_to_end(sha256)
        return found[0]

    def keep(self, sha256: str, source: str) -> bool:
        """Keeps it; False where the digest is another's."""
        data = source.encode("utf-8", "surrogatepass")
        if hashlib.sha256(data).hexdigest() != sha256:
            return False
        if sha256 not in self._held:
            self._held[sha256] = (source, len(data))
            self._bytes += len(data)
            while self._bytes > self._bytes_max:
                _, (_, size) = self._held.popitem(last=False)
                self._bytes -= size
        return True
