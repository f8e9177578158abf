import errno
import os

import pytest

from child.jail.forked import in_child
from child.jail.open_descriptors import open_ones
from toolrack_runner.child.jail import hygiene
from toolrack_runner.child.jail.hygiene import LAST, close_all_except, gaps


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ([], [(0, LAST)]),
        ([0, 1, 2], [(3, LAST)]),
        ([0, 1, 2, 7], [(3, 6), (8, LAST)]),
        ([7, 0, 7, 2], [(1, 1), (3, 6), (8, LAST)]),
        ([5], [(0, 4), (6, LAST)]),
    ],
)
def test_the_ranges_to_close_leave_out_what_is_kept(kept: list[int], expected: list[tuple[int, int]]) -> None:
    assert list(gaps(kept)) == expected


def close_most(answer: int) -> object:
    one, other = os.pipe()
    os.dup2(one, 1000)
    kept = {0, 1, 2, answer, other}
    close_all_except(kept)
    return [open_ones() == {*kept}, sorted(open_ones() ^ kept)]


def test_only_what_is_kept_stays_open() -> None:
    assert in_child(close_most) == [True, []]


def test_a_kernel_without_close_range_closes_them_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(hygiene, "syscall", refuse)

    assert in_child(close_most) == [True, []]


def test_a_kernel_that_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(hygiene, "syscall", refuse)

    assert in_child(close_most) == "EPERM"
