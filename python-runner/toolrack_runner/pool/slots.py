"""The numbers that children are told apart by: each is one uid and one work directory while its child lives."""

#: Children alive at once, whether they wait, run or die.
SLOTS_MAX = 1_000


class NoSlotLeft(Exception):
    """Every slot has a living child."""


class Slots:
    """Hands out numbers, the one that has rested longest first."""

    def __init__(self, count: int = SLOTS_MAX) -> None:
        self._free: dict[int, None] = dict.fromkeys(range(count))

    def take(self) -> int:
        """A number that no living child has; raises NoSlotLeft."""
        try:
            slot = next(iter(self._free))
        except StopIteration:
            raise NoSlotLeft from None
        del self._free[slot]
        return slot

    def give_back(self, slot: int) -> None:
        """The child of that number is reaped."""
        self._free[slot] = None
