"""What runs long for one user takes together about as much of the processors as one call of another's."""

from dataclasses import dataclass, field

import pytest

from toolrack_runner.server.pool.niceness import STEP, LongCalls


@dataclass(eq=False)
class Child:
    """Keeps its steps, as a child does that can only become nicer."""

    steps: list[int] = field(default_factory=list)

    def yield_to_others(self, steps: int) -> None:
        """One more order."""
        self.steps.append(steps)

    @property
    def weight(self) -> float:
        """Of one long call, as the kernel counts it."""
        return STEP ** -self.steps[-1]


def test_one_alone_yields_by_nothing_but_being_long() -> None:
    child = Child()
    LongCalls().add("a", child)
    assert child.steps == [0]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8, 16])
def test_however_many_one_user_has_they_weigh_as_one(count: int) -> None:
    calls = LongCalls()
    other = Child()
    calls.add("b", other)
    children = [Child() for _ in range(count)]
    for child in children:
        calls.add("a", child)
    assert 0.85 < sum(child.weight for child in children) < 1.15
    assert other.steps == [0]


def test_what_is_over_counts_no_more_and_nothing_of_its_user_is_kept() -> None:
    calls = LongCalls()
    first, second = Child(), Child()
    calls.add("a", first)
    calls.remove("a", first)
    calls.remove("a", first)
    calls.remove("b", second)
    calls.add("a", second)
    assert second.steps == [0]
    calls.remove("a", second)
    assert not calls._of_user


def test_a_long_call_counts_until_its_end() -> None:
    calls = LongCalls()
    child = Child()
    with calls.counted("a", child):
        assert calls._of_user == {"a": {child}}
    assert (child.steps, calls._of_user) == ([0], {})
