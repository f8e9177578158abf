"""Which system calls are tried with what: every call that the policy allows, first one after another, then at random."""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any, Final

from fuzz.known_flags import COMMANDS, FLAGS, drawn, known
from fuzz.signatures import ARGUMENTS_MAX, OF_ANY_KIND, SIGNATURES, VALUES, Argument
from toolrack_runner.child.jail.linux import MACHINE, SYSCALLS
from toolrack_runner.child.jail.seccomp import policy
from toolrack_runner.child.jail.seccomp.rule import ALLOW

#: Arguments of these kinds are tried with each other, the rest one at a time.
TOGETHER: Final = (
    "fd",
    "fcntl",
    "ioctl",
    "level",
    "option",
    "flag",
    "flock",
    "fcntl_value",
    "command",
    "msg",
    "addr",
    "pid",
    "which",
)
#: Above so many values for one call, two kinds at a time are enough.
PRODUCT_MAX: Final = 6_000
CALLS_MAX: Final = 6
#: How often an argument is of another kind than its place asks for.
STRANGE: Final = 0.15

#: One case: calls, each its name and its arguments, how often all of them are made, and in how many threads.
Case = dict[str, Any]
Call = list[Argument]


def allowed_calls() -> tuple[str, ...]:
    """The names of this machine's system calls that the policy lets through with any arguments."""
    return tuple(
        name
        for name in sorted(SYSCALLS)
        if (verdict := policy.verdict_of(name)) == ALLOW or isinstance(verdict, tuple)
    )


def case_of(*calls: Call, times: int = 1) -> Case:
    """One case."""
    return {"calls": [list(call) for call in calls]} | ({"times": times} if times != 1 else {})


def values_of(name: str, at: int) -> tuple[Argument, ...]:
    """What is tried in one place of one call: of its kind, what the kernel knows there, and what the policy names there."""
    kinds = SIGNATURES.get(name)
    if kinds is None:
        return OF_ANY_KIND
    return tuple(dict.fromkeys((*VALUES[kinds[at]], *known(name, at), *named_by_policy(name, at))))


def named_by_policy(name: str, at: int) -> Iterator[Argument]:
    """The values that the policy compares an argument with, and each bit that it does not look at."""
    verdict = policy.verdict_of(name)
    for alternative in verdict if isinstance(verdict, tuple) else ():
        for condition in alternative.conditions:
            if condition.argument != at or condition.is_upper_half:
                continue
            numbers = [value for value in condition.values if isinstance(value, int)]
            yield from numbers
            others = [1 << bit for bit in range(32) if not condition.mask(MACHINE) & 1 << bit]
            yield from (number | other for number in numbers for other in others)


def systematic() -> Iterator[Case]:
    """Every allowed call: descriptors, commands and flags with each other, everything else one at a time."""
    for name in allowed_calls():
        yield from (case_of([name, *arguments]) for arguments in arguments_of(name))


def arguments_of(name: str) -> list[list[Argument]]:
    """What one call is tried with."""
    kinds = SIGNATURES.get(name, ("any",) * ARGUMENTS_MAX)
    values = [values_of(name, at) for at in range(len(kinds))]
    usual = [each[0] for each in values]
    tried: dict[tuple[Argument, ...], None] = {tuple(usual): None}
    together = [at for at, kind in enumerate(kinds) if kind in TOGETHER]
    for places in places_together(together, values):
        for chosen in product(*(values[at] for at in places)):
            arguments = list(usual)
            for at, value in zip(places, chosen, strict=True):
                arguments[at] = value
            tried[tuple(arguments)] = None
    for at, those in enumerate(values):
        for value in those:
            tried[(*usual[:at], value, *usual[at + 1 :])] = None
    return [list(arguments) for arguments in tried]


def places_together(places: list[int], values: list[tuple[Argument, ...]]) -> list[tuple[int, ...]]:
    """All of them at once where that is not too many, else each two of them."""
    count = 1
    for at in places:
        count *= len(values[at])
    if count <= PRODUCT_MAX:
        return [tuple(places)]
    return [(one, other) for one in places for other in places if one < other]


def at_random(random: Random) -> Case:
    """A few calls, of which later ones use what earlier ones gave."""
    names = allowed_calls()
    calls: list[Call] = []
    for number in range(random.randint(1, CALLS_MAX)):
        name = random.choice(names)
        kinds = SIGNATURES.get(name, ("any",) * ARGUMENTS_MAX)
        calls.append([name, *(_argument(random, name, at, number) for at in range(len(kinds)))])
    return case_of(*calls)


def _argument(random: Random, name: str, at: int, calls_before: int) -> Argument:
    if calls_before and random.random() < STRANGE:
        return random.choice((f"result:{random.randrange(calls_before)}", "out:0", "out:1"))
    if random.random() < STRANGE:
        return random.choice((random.choice(OF_ANY_KIND), random.getrandbits(32), random.getrandbits(64)))
    flags = drawn(random, name, at)
    if flags is not None:
        return flags
    values = values_of(name, at)
    value = random.choice(values)
    other = random.choice(values)
    # Two flags at once.
    if isinstance(value, int) and isinstance(other, int) and random.random() < STRANGE * 2:
        return value | other
    return value


def repeated() -> Iterator[Case]:
    """Each call many times, for what the kernel keeps of it: those that make or keep things show as memory."""
    for name in allowed_calls():
        if name in ENDS:
            continue
        kinds = SIGNATURES.get(name, ())
        usual = [values_of(name, at)[0] for at in range(len(kinds))]
        variants = [usual]
        for at, kind in enumerate(kinds):
            if kind in ("fd", "fcntl_value", "msg"):
                variants += [[*usual[:at], value, *usual[at + 1 :]] for value in values_of(name, at)[:-2]]
        yield from (case_of([name, *arguments], times=REPEATED) for arguments in variants)


def kept(random: Random) -> Case:
    """Something made and filled, again and again, and never given back."""
    make: Call = random.choice(MAKERS)
    made = random.choice(("out:0", "out:1")) if "mem:good" in make else "result:0"
    calls = [make]
    for _ in range(random.randint(1, 3)):
        name = random.choice(KEEPERS)
        arguments = [random.choice(values_of(name, at)) for at in range(len(SIGNATURES[name]))]
        calls.append([name, made, *arguments[1:]])
    return case_of(*calls, times=REPEATED)


def flagged() -> Iterator[Case]:
    """Each flag and command of each call, in threads that then take what they can: a flag may change what they may take."""
    for name, at in PLACES_OF_FLAGS:
        usual = [values_of(name, each)[0] for each in range(len(SIGNATURES[name]))]
        for value in dict.fromkeys(known(name, at)):
            yield case_in_threads([name, *usual[:at], value, *usual[at + 1 :]])


def flagged_at_random(random: Random) -> Case:
    """The same with several flags, and bits that nobody knows."""
    name, at = random.choice(PLACES_OF_FLAGS)
    arguments = [values_of(name, each)[0] for each in range(len(SIGNATURES[name]))]
    for place in range(len(arguments)):
        value = drawn(random, name, place)
        if value is not None and (place == at or random.random() < STRANGE):
            arguments[place] = value
    if (name, at) in COMMANDS:
        arguments[at] = random.choice(COMMANDS[name, at])
    return case_in_threads([name, *arguments])


def case_in_threads(*calls: Call) -> Case:
    """One case whose calls each of several threads makes."""
    return case_of(*calls) | {"threads": THREADS}


#: How many threads make the calls of such a case, and how many such cases one child has: a child may have 64 threads.
THREADS: Final = 8
CASES_IN_THREADS: Final = 6
#: How often a call is made whose memory is looked at.
REPEATED: Final = 5_000
#: Calls that give a new descriptor, or two.
MAKERS: Final[tuple[Call, ...]] = (
    ["socketpair", 1, 1, 0, "mem:good"],
    ["pipe2", "mem:good", 0],
    ["openat", "at:here", "path:file", 2, 0],
    ["openat", "at:here", "path:null", 2, 0],
    ["eventfd2", 0, 0],
    ["timerfd_create", 1, 0],
    ["epoll_create1", 0],
    ["dup", "fd:pair"],
)
#: Calls whose first argument is a descriptor.
KEEPERS: Final = tuple(name for name in allowed_calls() if SIGNATURES.get(name, ("",))[0:1] == ("fd",))
ENDS: Final = frozenset({"exit", "exit_group", "pause", "rt_sigreturn", "clone", "close_range"})
#: Where the calls that are allowed have flags or commands. Not `clone`, whose thread would have no stack and end the child.
PLACES_OF_FLAGS: Final = tuple(
    (name, at) for name, at in (*FLAGS, *COMMANDS) if name in allowed_calls() and name != "clone"
)
