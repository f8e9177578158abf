"""Something that users fill together, counted by user: the one who has the most makes room first."""

from collections import Counter


class FairBudget:
    """So no user can take from another who has less; one alone has all of it."""

    def __init__(self, amount_max: int) -> None:
        self._amount_max = amount_max
        self._amounts: Counter[str] = Counter()
        self.amount = 0

    def add(self, user: str, amount: int) -> None:
        """The user has so much more; less where it is negative."""
        self.amount += amount
        self._amounts[user] += amount
        if not self._amounts[user]:
            del self._amounts[user]

    @property
    def greediest(self) -> str | None:
        """Who is to make room now; None where all that there is fits."""
        if self.amount <= self._amount_max:
            return None
        return max(self._amounts, key=self._amounts.__getitem__, default=None)
