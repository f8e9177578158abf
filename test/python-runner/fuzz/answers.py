"""Calls that name a process: whether there is such a process must not show in what they answer."""

from collections.abc import Iterator
from itertools import islice

from fuzz.batch import Tried
from fuzz.call_plan import Case, allowed_calls, case_of, values_of
from fuzz.signatures import ARGUMENTS_MAX, SIGNATURES, Argument

#: The first two are no processes, the others are.
ASKED = ("pid:absent", "pid:absent_too", "pid:sibling", "pid:outside")
#: Where nobody has said which argument names a process, each of these may.
PLACES_MAX = 2


def answer_cases(*, every: int = 1) -> Iterator[list[Case]]:
    """Groups of one call with the same arguments but for the process; of each call the first, and that part of the rest."""
    for name in allowed_calls():
        kinds = SIGNATURES.get(name)
        count = ARGUMENTS_MAX if kinds is None else len(kinds)
        places = (
            range(PLACES_MAX) if kinds is None else [at for at, kind in enumerate(kinds) if kind == "pid"]
        )
        values = [values_of(name, at) for at in range(count)]
        for place in places:
            for arguments in islice(one_at_a_time(values, place), 0, None, every):
                yield [case_of([name, *arguments[:place], pid, *arguments[place + 1 :]]) for pid in ASKED]


def one_at_a_time(values: list[tuple[Argument, ...]], left_alone: int) -> Iterator[list[Argument]]:
    """The usual arguments, with one of them replaced."""
    usual = [each[0] for each in values]
    yield usual
    for at, those in enumerate(values):
        if at != left_alone:
            yield from ([*usual[:at], value, *usual[at + 1 :]] for value in those[1:])


def telling(group: list[Case], tried: Tried, start: int = 0) -> Case | None:
    """The case, if any, whose answer is another than that for no process. The group's first case has the number `start`."""
    absent, absent_too, *others = (tried.said.get(start + number) for number in range(len(group)))
    if absent is None or absent != absent_too:
        return None
    told = (case for case, said in zip(group[2:], others, strict=True) if said is not None and said != absent)
    return next(told, None)
