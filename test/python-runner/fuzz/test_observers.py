"""Each observer finds what a child does that lacks the layers which prevent it, and nothing where there is nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fuzz.answers import ASKED, telling
from fuzz.batch import Tried, try_batch
from fuzz.call_plan import Call, Case, case_of
from fuzz.canaries import Canaries, put_canaries
from fuzz.observers import OBSERVERS, Found, Observers
from toolrack_runner.server.settings import LAYERS

O_WRONLY_TRUNC, O_CREAT_WRONLY = 0o1001, 0o101
F_SETLK, LOCK_EX_NB = 6, 6
SIGTERM = 15
LARGE: Call = ["sendto", "out:0", "mem:many", 1 << 20, 0x40, 0, 0]

#: The word of an observer, and cases that it must find with no layer on.
SEEN: list[tuple[str, Case]] = [
    ("files", case_of(["openat", "at:here", "path:canary", O_WRONLY_TRUNC, 0])),
    ("files", case_of(["openat", "at:here", "path:outside", O_CREAT_WRONLY, 0o600])),
    ("files", case_of(["chmod", "path:canary", 0o777])),
    ("files", case_of(["unlink", "path:canary"])),
    ("processes", case_of(["kill", "pid:outside", SIGTERM])),
    ("processes", case_of(["kill", "pid:sibling", SIGTERM])),
    ("processes", case_of(["setpriority", 0, "pid:sibling", 19])),
    ("packets", case_of(["socket", 2, 2, 0], ["sendto", "result:0", "mem:text", 8, 0, "mem:addr_udp", 16])),
    ("packets", case_of(["socket", 2, 1, 0], ["connect", "result:0", "mem:addr_tcp", 16])),
    ("packets", case_of(["socket", 1, 1, 0], ["connect", "result:0", "mem:addr_abstract", "unix length"])),
    ("packets", case_of(["socket", 1, 2, 0], ["sendto", "result:0", "mem:text", 8, 0, "mem:addr_file", 110])),
    ("locks", case_of(["fcntl", "fd:null", F_SETLK, "mem:lock_byte_write"])),
    ("locks", case_of(["flock", "fd:library", LOCK_EX_NB])),
    (
        "memory",
        case_of(
            ["socketpair", 1, 1, 0, "mem:good"],
            ["setsockopt", "out:0", 1, 7, "mem:large", 4],
            *[LARGE] * 4,
            times=60,
        ),
    ),
    ("handles", case_of(["pidfd_open", "pid:own", 0])),
    ("handles", case_of(["inotify_init1", 0])),
    ("runner", case_of(["kill", "pid:parent", 9])),
]


@contextmanager
def observed(*, without: tuple[str, ...] = ()) -> Iterator[tuple[Canaries, Observers]]:
    with put_canaries(without=without) as world:
        observers = Observers(world)
        try:
            yield world, observers
        finally:
            observers.close()


@pytest.fixture(scope="module")
def unconfined() -> Iterator[tuple[Canaries, Observers]]:
    """A runner without any layer."""
    with observed(without=LAYERS) as both:
        yield both


@pytest.fixture(scope="module")
def confined() -> Iterator[tuple[Canaries, Observers]]:
    """A runner with all of them."""
    with observed() as both:
        yield both


def inspect(both: tuple[Canaries, Observers], cases: list[Case]) -> tuple[Tried, Found]:
    """What came of them, and what was found."""
    world, observers = both
    length = 3 + len(world.folder.name)
    given = [
        case
        | {"calls": [[length if word == "unix length" else word for word in call] for call in case["calls"]]}
        for case in cases
    ]
    observers.before()
    tried = try_batch(world, given)
    return tried, observers.after(given, tried)


@pytest.mark.parametrize(
    ("observer", "case"), SEEN, ids=[f"{name} {case['calls'][-1][0]}" for name, case in SEEN]
)
def test_without_layers_an_effect_is_found(
    unconfined: tuple[Canaries, Observers], observer: str, case: Case
) -> None:
    tried, found = inspect(unconfined, [case])
    assert observer in {name for name, _ in found}, tried
    # What it holds of the case is put in order: the next finds nothing. Other programs' memory is a matter of several looks.
    assert {name for name, _ in inspect(unconfined, [case_of(["getpid"])])[1]} <= {"memory"}


def test_without_layers_an_answer_tells_of_a_process(unconfined: tuple[Canaries, Observers]) -> None:
    group = [case_of(["getsid", pid]) for pid in ASKED]
    assert telling(group, inspect(unconfined, group)[0]) in group[2:]


def test_with_every_layer_none_of_it_is_found(confined: tuple[Canaries, Observers]) -> None:
    """Those that are known to be open are tried by test_syscalls.py."""
    for observer, case in SEEN:
        if observer not in ("locks", "memory"):
            found = [each for each in inspect(confined, [case])[1] if each[0] != "memory"]
            assert (case, found) == (case, [])


def test_each_observer_is_tried() -> None:
    assert {name for name, _ in SEEN} | {"answers"} == set(OBSERVERS)


def test_a_child_that_ends_is_replaced_and_its_last_case_is_known(
    confined: tuple[Canaries, Observers],
) -> None:
    before, after = case_of(["getpid"]), case_of(["getppid"])
    stops = case_of(["kill", "pid:own", 19])
    cases = [before, case_of(["exit_group", 0]), after, case_of(["kill", "pid:own", 11]), after, stops, after]
    tried, _ = inspect(confined, cases)
    assert sorted(tried.said) == list(range(len(cases)))
    assert [number for number, said in sorted(tried.said.items()) if said is None] == [1, 3, 5]
    assert tried.said[2] == tried.said[4] == tried.said[6]
    assert tried.children == 4
