"""Children of one user are made in the order in which they were asked for, a few at a time, and not while they are held;
users take turns.
"""

from server.pool.fakes import key_of
from toolrack_runner.server.pool.refills import REFILLS_AT_ONCE, REFILLS_OF_ONE, Refills
from toolrack_runner.server.pool.warm_queue import Key

A, B, C = key_of("a"), key_of("b"), key_of("c")
OTHER, THIRD = key_of("a", "other"), key_of("a", "third")


def never(_key: Key, _since: float) -> bool:
    return False


def test_first_asked_is_first_made_and_never_more_at_once_than_may_be() -> None:
    refills = Refills(never)
    assert (REFILLS_OF_ONE, REFILLS_AT_ONCE) == (2, 3)
    for key in (A, B, C):
        refills.ask(key, 0.0)
    assert [refills.begin(), refills.begin(), refills.begin()] == [A, B, None]
    assert (refills.is_idle, refills.has_backlog) == (False, True)
    refills.ended(A)
    assert [refills.begin(), refills.begin()] == [C, None]
    assert (refills.is_idle, refills.has_backlog, refills.begin()) == (False, False, None)
    refills.ended(B)
    refills.ended(C)
    assert (refills.is_idle, refills.has_backlog, refills.begin()) == (True, False, None)


def test_one_that_is_held_keeps_its_place_until_it_is_not() -> None:
    held = {A}
    asked: list[tuple[Key, float]] = []

    def is_held(key: Key, since: float) -> bool:
        asked.append((key, since))
        return key in held

    refills = Refills(is_held)
    refills.ask(A, 7.0)
    refills.ask(B, 8.0)
    assert refills.begin() is None
    assert (refills.is_idle, refills.has_backlog) == (True, True)
    held.clear()
    assert [refills.begin(), refills.begin()] == [A, B]
    assert asked == [(A, 7.0), (A, 7.0), (B, 8.0)]


def test_a_user_whose_imports_take_long_keeps_no_other_user_from_a_child() -> None:
    refills = Refills(never)
    for _ in range(9):
        refills.ask(A, 0.0)
    assert [refills.begin(), refills.begin(), refills.begin()] == [A, A, None]
    refills.ask(OTHER, 1.0)
    assert [refills.begin(), refills.begin()] == [OTHER, None]
    refills.ended(OTHER)
    refills.ask(OTHER, 2.0)
    refills.ask(THIRD, 3.0)
    assert [refills.begin(), refills.begin()] == [THIRD, None]
    refills.ended(A)
    assert refills.begin() == OTHER
    refills.ended(THIRD)
    assert refills.begin() == A


def test_one_that_is_held_does_not_hold_another_users() -> None:
    refills = Refills(lambda key, _since: key is A)
    refills.ask(A, 0.0)
    refills.ask(B, 0.0)
    refills.ask(OTHER, 1.0)
    assert [refills.begin(), refills.begin()] == [OTHER, None]
