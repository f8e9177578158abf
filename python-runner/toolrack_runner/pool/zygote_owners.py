"""Whose the zygotes with packages are, and which one goes when another is to start."""

from collections import Counter, OrderedDict

#: The packages that a zygote holds.
Packages = frozenset[str]


class ZygoteOwners:
    """The user who has more than a newcomer would have makes room; else a newcomer's own goes. Of a user's, the one that
    was used longest ago.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._owners: OrderedDict[Packages, str] = OrderedDict()

    def used(self, packages: Packages) -> None:
        """A child is taken from it."""
        if packages in self._owners:
            self._owners.move_to_end(packages)

    def asked(self, user: str, packages: Packages) -> None:
        """The user wants one that there is. It is now that user's who has fewer: its owner's others do not push it out."""
        owned = Counter(self._owners.values())
        if owned[user] < owned[self._owners[packages]]:
            self._owners[packages] = user

    def add(self, user: str, packages: Packages) -> Packages | None:
        """The user has one more; which one is to go for it."""
        goes = self._in_excess(user) if len(self._owners) >= self._most else None
        if goes is not None:
            self.remove(goes)
        self._owners[packages] = user
        return goes

    def remove(self, packages: Packages) -> None:
        """It has ended."""
        self._owners.pop(packages, None)

    def _in_excess(self, user: str) -> Packages:
        owned = Counter(self._owners.values())
        most = max(owned.values())
        if most > owned[user] + 1:
            users = {other for other, count in owned.items() if count == most}
        else:
            users = {user} if owned[user] else set(owned)
        return next(held for held, owner in self._owners.items() if owner in users)
