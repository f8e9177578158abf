"""What users fill together: the user who has the most makes room first, so that no user can take from one who has less."""

import sys
from collections import Counter, OrderedDict
from typing import Generic, TypeVar

Name = TypeVar("Name")
Value = TypeVar("Value")


class FairBudget:
    """An amount, such as bytes, counted by user. A user who is alone may have all of it."""

    def __init__(self, amount_max: int) -> None:
        self._amount_max = amount_max
        self._amounts: Counter[str] = Counter()
        self.amount = 0

    def add(self, user: str, amount: int) -> None:
        """The user has so much more, or less where it is negative."""
        self.amount += amount
        self._amounts[user] += amount
        if not self._amounts[user]:
            del self._amounts[user]

    @property
    def greediest(self) -> str | None:
        """The user who has to make room now; None where everything fits."""
        if self.amount <= self._amount_max:
            return None
        return max(self._amounts, key=self._amounts.__getitem__, default=None)


class FairCache(Generic[Name, Value]):
    """Values by name, within a budget of bytes and one of entries.

    Where there is no room, the user who has the most loses the entry that was used longest ago.
    """

    def __init__(self, bytes_max: int, entries_max: int = sys.maxsize) -> None:
        self._bytes = FairBudget(bytes_max)
        self._entries = FairBudget(entries_max)
        #: Each with its user and its size.
        self._held: OrderedDict[Name, tuple[Value, str, int]] = OrderedDict()

    def find(self, name: Name) -> Value | None:
        """The value, which is used now; None where there is none."""
        if name not in self._held:
            return None
        self._held.move_to_end(name)
        return self._held[name][0]

    def keep(self, user: str, name: Name, value: Value, size: int) -> None:
        """Keeps a value of `size` bytes, in place of the one that had this name."""
        self.forget(name)
        self._held[name] = value, user, size
        self._bytes.add(user, size)
        self._entries.add(user, 1)
        while (greediest := self._bytes.greediest or self._entries.greediest) is not None:
            self.forget(next(other for other, (_, owner, _) in self._held.items() if owner == greediest))

    def forget(self, name: Name) -> None:
        """Lets go of it, if it is here."""
        if name in self._held:
            _, user, size = self._held.pop(name)
            self._bytes.add(user, -size)
            self._entries.add(user, -1)
