"""A child has its own slot from its order to its end, however it ends."""

import pytest

from server.pool.fakes import FakeChild, FakeZygote
from toolrack_runner.server.pool.children import Children, PoolError
from toolrack_runner.wire.zygote_messages import Born, Gone, Limits, Unborn


class Held:
    """Children with two slots, and those that were reported as ended."""

    def __init__(self, slots: int = 2) -> None:
        self.made: list[FakeChild] = []
        self.ended: list[FakeChild] = []
        self.children: Children[FakeChild, FakeZygote] = Children(self.make, self.ended.append, slots)

    def make(self, number: int, slot: int, limits: Limits, _zygote: FakeZygote) -> FakeChild:
        """One more."""
        self.made.append(FakeChild(number, slot, limits))
        return self.made[-1]


def gone(child: FakeChild) -> Gone:
    return Gone(child.number, exit_code=0, cpu_seconds=0.0, resident_bytes_max=0)


def test_a_child_is_asked_for_born_and_reaped_and_its_slot_is_the_next_child_s() -> None:
    held, zygote = Held(slots=1), FakeZygote()
    child = held.children.spawn(Limits(), zygote)
    assert zygote.asked == [(child.number, child.slot)]
    assert held.children.zygote_of(child) is zygote
    held.children.born(Born(child.number), 5)
    with pytest.raises(PoolError, match="every slot has a living child"):
        held.children.spawn(Limits(), zygote)
    end = gone(child)
    held.children.gone(end)
    assert child.done == ["handed over", ("born", 5), ("reaped", end)]
    assert held.ended == [child]
    assert (held.children.alive, held.children.zygote_of(child)) == (0, None)
    assert held.children.spawn(Limits(), zygote).slot == child.slot


def test_a_child_that_was_not_born_ends_as_one_that_told_nothing() -> None:
    held = Held(slots=1)
    child = held.children.spawn(Limits(), FakeZygote())
    held.children.gone(Unborn(child.number, "no memory"))
    assert child.done[-1] == ("reaped", None)
    held.children.spawn(Limits(), FakeZygote())


def test_a_zygote_that_dies_takes_its_own_children_along_and_no_other_s() -> None:
    held, dying, other = Held(), FakeZygote(), FakeZygote()
    lost, kept = held.children.spawn(Limits(), dying), held.children.spawn(Limits(), other)
    held.children.lost(dying)
    assert (lost.done[-1], kept.done) == (("reaped", None), ["handed over"])
    assert held.ended == [lost]
    assert held.children.alive == 1
    held.children.spawn(Limits(), other)


def test_a_zygote_that_takes_no_order_costs_neither_a_slot_nor_a_channel() -> None:
    held = Held(slots=1)
    for _ in range(2):
        with pytest.raises(PoolError, match="no child could be asked for: Broken pipe"):
            held.children.spawn(Limits(), FakeZygote(BrokenPipeError(32, "Broken pipe")))
        assert held.made[-1].done == [("reaped", None)]
    assert held.children.alive == 0
    held.children.spawn(Limits(), FakeZygote())


def test_where_no_channel_can_be_made_no_slot_is_lost() -> None:
    def refuse(number: int, slot: int, limits: Limits, zygote: FakeZygote) -> FakeChild:
        raise OSError(24, "Too many open files")

    children: Children[FakeChild, FakeZygote] = Children(refuse, lambda _: None, slots=1)
    for _ in range(2):
        with pytest.raises(PoolError, match="no channel to a child could be made: Too many open files"):
            children.spawn(Limits(), FakeZygote())


def test_all_are_killed_together() -> None:
    held = Held()
    both = [held.children.spawn(Limits(), FakeZygote()) for _ in range(2)]
    held.children.kill()
    assert [child.is_alive for child in both] == [False, False]
