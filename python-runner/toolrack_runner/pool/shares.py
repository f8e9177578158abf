"""How much of the runner one user may have: of the places for calls, and of those for checks.

Checks have places of their own, so that uploads that hang never hold the place of a call.
"""

from toolrack_runner.pool.fair_queue import Shares

#: Checks at once, at the least: one that hangs leaves another place.
CHECKS_MIN = 2
#: For each place that a user may have, so many of the user's may wait.
WAITING_PER_PLACE = 2
#: For each place there is, so many may wait: as much as 16 users who each wait with all that they may.
WAITING_MAX_PER_PLACE = 16


def shares_of_calls(slots: int, user_slots: int | None) -> Shares:
    """`user_slots` is what the operator lets one user have; None is half."""
    return _shares(slots, max(1, slots // 2) if user_slots is None else user_slots)


def shares_of_checks(slots: int, user_slots: int | None) -> Shares:
    """Half as many places as there are for calls, and the same part of them for one user."""
    places = max(CHECKS_MIN, slots // 2)
    return _shares(places, max(1, places // 2 if user_slots is None else places * user_slots // slots))


def _shares(places: int, places_per_user: int) -> Shares:
    return Shares(
        places=places,
        places_per_user=places_per_user,
        waiting_per_user=WAITING_PER_PLACE * places_per_user,
        waiting_max=WAITING_MAX_PER_PLACE * places,
    )
