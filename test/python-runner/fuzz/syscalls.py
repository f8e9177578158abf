"""`npm run fuzz -- syscalls`: every system call that the jail allows, made by a real child, with observers outside."""

import argparse
import json
from collections.abc import Iterator
from itertools import islice
from random import Random

from fuzz.answers import ASKED, answer_cases, telling
from fuzz.batch import Tried, try_batch
from fuzz.call_plan import (
    CASES_IN_THREADS,
    Case,
    at_random,
    case_of,
    flagged,
    flagged_at_random,
    kept,
    repeated,
    systematic,
)
from fuzz.canaries import Canaries, put_canaries
from fuzz.command import Budget, Finding, Report, run_program
from fuzz.known_findings import KNOWN_OPEN, PAST_FINDINGS
from fuzz.observers import Found, Observers
from fuzz.users import users

KIND = "syscalls"
#: What the log of one call has room for, several times.
BATCH = 100
#: How often a growth of the kernel's memory must show before it is believed: other programs run on this machine too.
MEASURED = 3
#: Three times what all systematic cases take on 2 idle cores: who has less time tries a part of them, and then random ones.
PASS_SECONDS = 130.0
#: What other programs of this machine have too.
OF_THE_MACHINE = ("memory", "locks")
HARMLESS = case_of(["getpid"])


class Run:
    """One run against one runner."""

    def __init__(self, world: Canaries, report: Report, budget: Budget) -> None:
        self._world = world
        self._report = report
        self._budget = budget
        self._observers = Observers(world)

    def past(self) -> None:
        """What was found before, each case alone."""
        for case in PAST_FINDINGS:
            for observer, what in self._inspect([case])[1]:
                if not self._is_of_others([case], observer):
                    self._report.add(Finding(KIND, observer, what, case))
            self._report.tried += 1

    def answers(self, *, every: int = 1) -> None:
        """Whether a call tells of a process that is there what it does not tell of one that is not."""
        groups = answer_cases(every=every)
        while self._goes_on and (some := list(islice(groups, BATCH // len(ASKED)))):
            cases = [case for group in some for case in group]
            tried, found = self._inspect(cases)
            self._report.tried += len(cases)
            self._judge(cases, found)
            for at, group in enumerate(some):
                if self._may_tell(group, tried, at * len(ASKED)) and (
                    case := telling(group, self._inspect(group)[0])
                ):
                    self._report.add(Finding(KIND, "answers", "a child is told which process there is", case))

    def _may_tell(self, group: list[Case], tried: Tried, start: int) -> bool:
        """Whether to ask again and alone: a process may have been born meanwhile, or the child may have ended too early."""
        has_all = all(tried.said.get(start + number) is not None for number in range(len(group)))
        return not has_all or telling(group, tried, start) is not None

    def many(self, cases: Iterator[Case], batch: int = BATCH) -> None:
        """Cases in batches, for as long as the budget lasts."""
        while self._goes_on and (some := list(islice(cases, batch))):
            _, found = self._inspect(some)
            self._report.tried += len(some)
            self._judge(some, found)

    def mixed(self, random: Random, singles: Iterator[Case]) -> None:
        """Random cases in batches, some in threads, and between them one whose memory is looked at alone.

        Ends when the budget is used up.
        """
        while self._goes_on:
            self.many(at_random(random) for _ in range(BATCH))
            self.many(flagged_at_random(random) for _ in range(CASES_IN_THREADS))
            self.many(iter([next(singles, kept(random))]))

    @property
    def _goes_on(self) -> bool:
        return self._budget.is_left(self._report.tried) and not self._report.is_full

    def close(self) -> None:
        """The observers end."""
        self._observers.close()

    def _inspect(self, cases: list[Case]) -> tuple[Tried, Found]:
        """Tries them once; where memory grew again, for it must grow each time to be believed."""
        tried, found = self._inspect_once(cases)
        for _ in range(MEASURED - 1):
            if any(observer == "memory" for observer, _ in found):
                tried, found = self._inspect_once(cases)
        return tried, found

    def _inspect_once(self, cases: list[Case]) -> tuple[Tried, Found]:
        self._observers.before()
        tried = try_batch(self._world, cases)
        self._count("children", tried.children)
        self._count("looked at alive", self._observers.was_held)
        return tried, list(dict.fromkeys(self._observers.after(cases, tried)))

    def _count(self, name: str, more: int) -> None:
        self._report.counts[name] = self._report.counts.get(name, 0) + more

    def _judge(self, cases: list[Case], found: Found) -> None:
        """Adds what was found, each with the smallest case that still has it."""
        for observer, what in found:
            names = {str(call[0]) for case in cases for call in case["calls"]}
            if len(names) == 1 and self._report.has(observer, *names):
                continue
            smallest = self._smallest(cases, observer)
            calls = [call for each in smallest for call in each["calls"]]
            case = smallest[0] if len(smallest) == 1 else smallest[0] | {"calls": calls}
            if not self._is_of_others(smallest, observer):
                self._report.add(Finding(KIND, observer, what, case))

    def _is_of_others(self, cases: list[Case], observer: str) -> bool:
        """Whether other programs of this machine had the effect: it is there without the case, or not again with it."""
        subject = Finding(KIND, observer, "", cases[0]).subject
        if observer not in OF_THE_MACHINE or (observer, subject) in self._report.known:
            return False
        return self._has([HARMLESS], observer) or not self._has(cases, observer)

    def _smallest(self, cases: list[Case], observer: str) -> list[Case]:
        """Halves them for as long as one half alone has the effect, and then takes single calls out."""
        while len(cases) > 1:
            half = len(cases) // 2
            for part in (cases[:half], cases[half:]):
                if self._has(part, observer):
                    cases = part
                    break
            else:
                return cases
        (case,) = cases
        for at in reversed(range(len(case["calls"]))):
            fewer = case | {"calls": [*case["calls"][:at], *case["calls"][at + 1 :]]}
            if fewer["calls"] and self._has([fewer], observer):
                case = fewer
        return [case]

    def _has(self, cases: list[Case], observer: str) -> bool:
        return any(each == observer for each, _ in self._inspect(cases)[1])


def fuzz(
    seed: int, budget: Budget, *, as_nobody: bool = False, every: int = 1, case: Case | None = None
) -> Report:
    """One run; `every` takes that part of the systematic cases only, each time another call's and another argument's."""
    report = Report(KIND, seed, KNOWN_OPEN)
    random = Random(seed)
    with put_canaries(as_nobody=as_nobody) as world:
        run = Run(world, report, budget)
        try:
            if case is not None:
                run.many(iter([case]))
                return report
            run.past()
            run.answers(every=every)
            run.many(islice(flagged(), random.randrange(every), None, every), CASES_IN_THREADS)
            run.many(islice(systematic(), random.randrange(every), None, every))
            run.mixed(random, islice(repeated(), random.randrange(every), None, every))
        finally:
            run.close()
    return report


def _run(arguments: argparse.Namespace) -> list[Report]:
    case = json.loads(arguments.case) if arguments.case else None
    seconds = arguments.seconds / len(users())
    every = max(1, round(PASS_SECONDS / seconds))
    return [
        fuzz(arguments.seed, Budget(seconds), as_nobody=nobody, every=every, case=case) for nobody in users()
    ]


if __name__ == "__main__":
    run_program(KIND, _run)
