"""What the next children of a module are told ahead, so that they neither compile it nor read every spec.

Its code was told before the module ran. The places of its specs were told later, by a child of the same key, so they are
believed for calls of that key only.
"""

from dataclasses import dataclass

from toolrack_runner.pool.fair_cache import FairCache
from toolrack_runner.pool.warm_queue import Key
from toolrack_runner.wire.child_messages import Known

#: What all compiled modules may take together, in the form in which they are sent.
CODE_BYTES_MAX = 64 << 20
#: Modules of which something is kept.
MODULES_MAX = 1_000


@dataclass(slots=True)
class _Told:
    code: str
    places: dict[str, int] | None = None


class KnownModules:
    """By key. A module that made room for others is compiled again with its next call."""

    def __init__(self, code_bytes_max: int = CODE_BYTES_MAX, modules_max: int = MODULES_MAX) -> None:
        self._told: FairCache[Key, _Told] = FairCache(code_bytes_max, modules_max)

    def find(self, key: Key) -> Known | None:
        """What a new child of this key is told; None while some of it is not known."""
        told = self._told.find(key)
        return None if told is None or told.places is None else Known(told.code, told.places)

    def learn_code(self, key: Key, code: str | None) -> None:
        """Keeps the compiled module; None where it is too large to be sent."""
        self.forget(key)
        if code is not None:
            self._told.keep(key.tenant, key, _Told(code), len(code))

    def learn_places(self, key: Key, places: dict[str, int]) -> None:
        """Keeps where the specs stand, if the code is kept."""
        told = self._told.find(key)
        if told is not None:
            told.places = places

    def forget(self, key: Key) -> None:
        """The next child of this key is told nothing."""
        self._told.forget(key)
