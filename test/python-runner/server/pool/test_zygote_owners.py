"""Whose zygote goes when another is to start."""

from toolrack_runner.server.pool.zygotes import Packages, ZygoteOwners


def of(name: str) -> Packages:
    """One that holds this package."""
    return frozenset({name})


def test_one_who_asks_for_ever_other_packages_retires_its_own_only() -> None:
    owners = ZygoteOwners(4)
    kept = {of("alice's"), of("bob's")}
    assert owners.add("alice", of("alice's")) is None
    assert owners.add("bob", of("bob's")) is None
    gone = [owners.add("mallory", of(f"{number}")) for number in range(20)]
    assert gone == [None, None, *(of(f"{number}") for number in range(18))]
    assert not kept & set(gone)


def test_a_newcomer_gets_the_place_of_who_has_the_most_that_was_used_longest_ago() -> None:
    owners = ZygoteOwners(4)
    for number in range(4):
        owners.add("mallory", of(f"{number}"))
    owners.used(of("0"))
    assert owners.add("alice", of("alice's")) == of("1")
    assert owners.add("alice", of("another")) == of("2")
    # Now each user has two. For a third one, a user loses one of the two.
    assert owners.add("alice", of("third")) == of("alice's")


def test_where_each_has_one_a_newcomer_gets_what_was_used_longest_ago() -> None:
    owners = ZygoteOwners(2)
    owners.add("a", of("a"))
    owners.add("b", of("b"))
    owners.used(of("a"))
    assert owners.add("c", of("c")) == of("b")


def test_who_asked_first_for_what_another_uses_too_does_not_retire_it_with_its_own() -> None:
    owners = ZygoteOwners(3)
    owners.add("mallory", of("common"))
    owners.add("mallory", of("0"))
    owners.asked("alice", of("common"))
    gone = [owners.add("mallory", of(f"{number}")) for number in range(1, 10)]
    assert of("common") not in gone


def test_what_has_ended_takes_no_place() -> None:
    owners = ZygoteOwners(1)
    owners.add("a", of("a"))
    owners.remove(of("a"))
    assert owners.add("b", of("b")) is None
