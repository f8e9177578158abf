"""What the programs of the fuzzer have in common: their arguments, and how they tell what was found."""

import argparse
import json
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

#: Findings after which a run ends: more of them say nothing new.
FINDINGS_MAX = 30


@dataclass(frozen=True)
class Finding:
    """One effect that must not be, and the smallest case that has it."""

    kind: str
    observer: str
    what: str
    case: dict[str, Any]

    @property
    def subject(self) -> str:
        """What the case is about, for telling one finding from another."""
        calls = self.case.get("calls")
        if calls:
            return " ".join(dict.fromkeys(str(call[0]) for call in calls))
        return str(self.case.get("moment"))

    def __str__(self) -> str:
        repeat = f"npm run fuzz -- {self.kind} --case '{json.dumps(self.case, separators=(',', ':'))}'"
        return f"{self.observer}: {self.subject}: {self.what}\n  {repeat}"


@dataclass(frozen=True)
class Budget:
    """How long a run goes on: seconds, or a number of cases, or both."""

    seconds: float | None = None
    cases: int | None = None
    _started: float = field(default_factory=time.monotonic)

    def is_left(self, tried: int) -> bool:
        """Whether another case may be tried."""
        has_time = self.seconds is None or time.monotonic() - self._started < self.seconds
        return has_time and (self.cases is None or tried < self.cases)


@dataclass
class Report:
    """What a run came to."""

    kind: str
    seed: int
    #: Known and not closed yet: (observer, subject).
    known: frozenset[tuple[str, str]] = frozenset()
    tried: int = 0
    #: Other numbers, by what they count.
    counts: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        """Once for each observer and subject."""
        if not self.has(finding.observer, finding.subject):
            self.findings.append(finding)

    def has(self, observer: str, subject: str) -> bool:
        """Whether such a finding is there already."""
        return any((each.observer, each.subject) == (observer, subject) for each in self.findings)

    @property
    def new(self) -> list[Finding]:
        """Findings that nobody knew."""
        return [each for each in self.findings if (each.observer, each.subject) not in self.known]

    @property
    def is_full(self) -> bool:
        """Whether to stop for the number of findings."""
        return len(self.new) >= FINDINGS_MAX

    def __str__(self) -> str:
        counts = "".join(f", {count} {name}" for name, count in self.counts.items())
        lines = [f"{self.kind}: seed {self.seed}, {self.tried} cases{counts}, {len(self.new)} findings"]
        lines += [f"{'' if each in self.new else 'known: '}{each}" for each in self.findings]
        return "\n".join(lines)


def run_program(kind: str, run: Callable[[argparse.Namespace], list[Report]]) -> None:
    """Reads the arguments, runs, prints, and ends with 1 if something was found."""
    parser = argparse.ArgumentParser(prog=f"npm run fuzz -- {kind}")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (60 unless said)")
    parser.add_argument("--seed", type=int, help="what the random cases come from (random unless said)")
    parser.add_argument("--case", help="one case, as a finding prints it, instead of all others")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = secrets.randbelow(1 << 32)
    sys.stdout.write(f"{kind}: seed {arguments.seed}\n")
    sys.stdout.flush()
    reports = run(arguments)
    for report in reports:
        sys.stdout.write(f"{report}\n")
    sys.exit(1 if any(report.new for report in reports) else 0)
