"""What is tried follows the jail's policy: a call that is allowed later is tried at once."""

from itertools import islice
from random import Random

import pytest

from fuzz.answers import answer_cases
from fuzz.call_plan import PLACES_OF_FLAGS, allowed_calls, at_random, flagged, flagged_at_random, systematic
from fuzz.known_flags import COMMANDS, FLAGS
from fuzz.signatures import DESCRIPTORS, EVERY_BIT, SIGNATURES
from toolrack_runner.child.jail.linux import SYSCALLS
from toolrack_runner.child.jail.seccomp import policy
from toolrack_runner.child.jail.seccomp.allowed import ALLOWED
from toolrack_runner.child.jail.seccomp.rule import ALLOW, Condition, when


def test_every_call_that_is_allowed_is_tried() -> None:
    tried = {case["calls"][0][0] for case in systematic()}
    assert tried == set(allowed_calls())
    assert {name for name in SYSCALLS if policy.verdict_of(name) == ALLOW} <= tried
    assert set(policy.CONDITIONAL) & set(SYSCALLS) <= tried


def test_a_call_that_nobody_has_described_is_tried_when_it_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "vmsplice" not in SIGNATURES
    assert "vmsplice" not in allowed_calls()
    monkeypatch.setattr(policy, "ALLOWED", ALLOWED | {"vmsplice"})
    cases = [case["calls"][0] for case in systematic() if case["calls"][0][0] == "vmsplice"]
    assert {call[1] for call in cases} >= {*DESCRIPTORS, *EVERY_BIT}
    assert any(group[0]["calls"][0][0] == "vmsplice" for group in answer_cases())


@pytest.mark.parametrize(("name", "place"), [("openat", 2), ("recvmsg", 2), ("mmap", 3), ("close_range", 2)])
def test_each_bit_of_flags_is_tried(name: str, place: int) -> None:
    tried = {call_plan_case[place + 1] for call_plan_case in calls_of(name)}
    assert tried >= set(EVERY_BIT)


def test_each_flag_is_tried_with_each_kind_of_descriptor() -> None:
    tried = {(call[1], call[2]) for call in calls_of("fcntl")}
    assert tried >= {(descriptor, command) for descriptor in DESCRIPTORS for command in range(16)}


def test_what_the_policy_compares_an_argument_with_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = (when(Condition(1, (4_711,), ignored=0xF)),)
    monkeypatch.setattr(policy, "CONDITIONAL", {"fcntl": rule})
    assert {call[2] for call in calls_of("fcntl")} >= {4_711, 4_711 | 1, 4_711 | 8}


#: Kinds of arguments that are flags, commands or options.
KINDS_OF_FLAGS = ("flag", "command", "fcntl", "ioctl", "level", "option", "mode")
#: Modes that the kernel itself reduces to permissions.
PERMISSIONS = {("mkdir", 1), ("mkdirat", 2)}


def test_the_policy_looks_at_each_argument_that_is_flags_or_a_command() -> None:
    for name in allowed_calls():
        kinds = SIGNATURES[name]
        places = {at for at, kind in enumerate(kinds) if kind in KINDS_OF_FLAGS} - {
            at for call, at in PERMISSIONS if call == name
        }
        places |= {at for call, at in (*FLAGS, *COMMANDS) if call == name}
        rule = policy.verdict_of(name)
        looked_at = {
            condition.argument
            for case in (rule if isinstance(rule, tuple) else ())
            for condition in case.conditions
        }
        assert places <= looked_at, (name, places - looked_at)


def test_each_flag_is_tried_in_threads_too() -> None:
    tried = [case["calls"][0] for case in flagged()]
    assert {call[0] for call in tried} == {name for name, _ in PLACES_OF_FLAGS}
    assert {call[3] for call in tried if call[0] == "close_range"} == {2, 4, 6}
    assert all(case["threads"] > 1 for case in flagged())


def test_flags_are_drawn_together_and_with_bits_that_nobody_knows() -> None:
    random = Random(1)
    drawn = {
        case["calls"][0][4]
        for case in map(flagged_at_random, [random] * 20_000)
        if case["calls"][0][0] == "mmap"
    }
    known = FLAGS["mmap", 3]
    assert any(value == one | other for value in drawn for one in known for other in known if one != other)
    assert any(
        value & ~sum(1 << bit for bit in range(32) if any(1 << bit & flag for flag in known))
        for value in drawn
    )


def test_a_seed_gives_the_same_cases_again() -> None:
    one, other = Random(1), Random(1)
    assert [at_random(one) for _ in range(50)] == [at_random(other) for _ in range(50)]


def calls_of(name: str) -> list[list[int | str]]:
    """What one call is tried with."""
    cases = islice((case["calls"][0] for case in systematic() if case["calls"][0][0] == name), 100_000)
    return list(cases)
