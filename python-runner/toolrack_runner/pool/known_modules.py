"""What is sent ahead to the next children of a module, so that they neither compile it nor read every spec.

The code was told before any of the module ran. Where its specs stand was told after, by a child of the same key, and is
believed for calls of that key only.
"""

from collections import OrderedDict
from dataclasses import dataclass

from toolrack_runner.pool.fair_budget import FairBudget
from toolrack_runner.pool.key import Key
from toolrack_runner.wire.child_messages import Known

#: What the compiled modules that are kept may take together, as they are sent.
CODE_BYTES_MAX = 64 << 20
#: Modules of which something is kept.
MODULES_MAX = 1_000


@dataclass(slots=True)
class _Told:
    code: str
    places: dict[str, int] | None = None


class KnownModules:
    """Of the user who has the most, those go first that were asked for longest ago; they are compiled again when they are
    called again.
    """

    def __init__(self, code_bytes_max: int = CODE_BYTES_MAX, modules_max: int = MODULES_MAX) -> None:
        self._code_bytes = FairBudget(code_bytes_max)
        self._modules = FairBudget(modules_max)
        self._told: OrderedDict[Key, _Told] = OrderedDict()

    def find(self, key: Key) -> Known | None:
        """What a new child of this key is told; None while not all of it is known."""
        told = self._told.get(key)
        if told is None or told.places is None:
            return None
        self._told.move_to_end(key)
        return Known(told.code, told.places)

    def learn_code(self, key: Key, code: str | None) -> None:
        """Keeps the compiled module; None where it is too large to be sent."""
        self.forget(key)
        if code is None:
            return
        self._told[key] = _Told(code)
        self._code_bytes.add(key.tenant, len(code))
        self._modules.add(key.tenant, 1)
        while (user := self._code_bytes.greediest or self._modules.greediest) is not None:
            self.forget(next(held for held in self._told if held.tenant == user))

    def learn_places(self, key: Key, places: dict[str, int]) -> None:
        """Keeps where the specs stand, if the code is kept."""
        told = self._told.get(key)
        if told is not None:
            told.places = places

    def forget(self, key: Key) -> None:
        """The next child of this key is told nothing."""
        told = self._told.pop(key, None)
        if told is not None:
            self._code_bytes.add(key.tenant, -len(told.code))
            self._modules.add(key.tenant, -1)
