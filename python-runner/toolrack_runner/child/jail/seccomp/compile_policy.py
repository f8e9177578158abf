"""Compiles the policy to a program for one kind of machine.

The program finds the number of a call by binary search, in about nine comparisons. From 5.11 on, Linux keeps a bitmap of the
calls that are allowed with any arguments. For these it does not run the program.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from toolrack_runner.child.jail.seccomp import assembler as bpf
from toolrack_runner.child.jail.seccomp import policy, rule
from toolrack_runner.child.jail.seccomp.syscalls import TABLES

#: `linux/audit.h`: AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64; both have 64 bits and are little endian.
ARCHITECTURES: Final[Mapping[str, int]] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

#: The bit that is set in the numbers of x32 calls. A program for x86_64 would decide wrongly about these numbers.
X32: Final = 0x40000000

#: Offsets in `struct seccomp_data`: number, architecture, instruction pointer, six arguments of 64 bits, lower half first.
NUMBER_AT: Final = 0
ARCHITECTURE_AT: Final = 4
ARGUMENTS_AT: Final = 16


def compile_policy(machine: str) -> bpf.Assembled:
    """Compiles the policy for one kind of machine. Equal rules are compiled once.

    Raises KeyError if its numbers are not known.
    """
    lines: list[bpf.Line] = [
        bpf.Operation(bpf.LOAD_WORD, ARCHITECTURE_AT),
        bpf.Branch(bpf.JUMP_IF_EQUAL, ARCHITECTURES[machine], if_false=_returning(rule.KILL_PROCESS)),
        bpf.Operation(bpf.LOAD_WORD, NUMBER_AT),
        *_search(list(_ranges(machine))),
    ]
    for cases, name in _rules(machine).items():
        lines += _cases(machine, name, cases)
    for verdict in rule.VERDICTS:
        lines += [bpf.Label(_returning(verdict)), bpf.Operation(bpf.RETURN, verdict)]
    return bpf.assemble(lines)


def _returning(verdict: int) -> str:
    return f"return {verdict:#x}"


def _ranges(machine: str) -> Iterator[tuple[int, str]]:
    """Ranges of numbers with the same target: for each range, the first number and the label."""
    for target, run in groupby(_targets(machine), key=lambda pair: pair[1]):
        yield next(run)[0], target


def _rules(machine: str) -> Mapping[rule.Rule, str]:
    """All rules, each with its label. The label is the name of the first call that has the rule."""
    table = TABLES[machine]
    labels: dict[rule.Rule, str] = {}
    for name in sorted(table, key=table.__getitem__):
        verdict = policy.verdict_of(name)
        if not isinstance(verdict, int):
            labels.setdefault(verdict, name)
    return labels


def _targets(machine: str) -> Iterator[tuple[int, str]]:
    names = {number: name for name, number in TABLES[machine].items()}
    labels = _rules(machine)
    for number in range(max(names) + 1):
        verdict = policy.verdict_of(names[number]) if number in names else rule.DENY
        yield number, _returning(verdict) if isinstance(verdict, int) else labels[verdict]
    yield max(names) + 1, _returning(rule.UNKNOWN)
    if machine == "x86_64":
        yield X32, _returning(rule.KILL_PROCESS)


def _search(ranges: Sequence[tuple[int, str]]) -> Iterator[bpf.Line]:
    """A binary search in the ranges. When only one range is left, it jumps to the label of this range."""
    middle = len(ranges) // 2
    halves = ranges[:middle], ranges[middle:]
    left, right = (half[0][1] if len(half) == 1 else f"from {half[0][0]} to {half[-1][0]}" for half in halves)
    yield bpf.Branch(bpf.JUMP_IF_AT_LEAST, ranges[middle][0], right, left)
    for name, half in zip((left, right), halves, strict=True):
        if len(half) > 1:
            yield bpf.Label(name)
            yield from _search(half)


def _cases(machine: str, name: str, cases: rule.Rule) -> Iterator[bpf.Line]:
    for number, case in enumerate(cases):
        if not case.conditions:
            return
        yield bpf.Label(name if number == 0 else f"{name} {number}")
        otherwise = _from_case(name, cases, number + 1)
        for position, condition in enumerate(case.conditions[:-1]):
            passed = f"{name} {number} passed {position}"
            yield from _branches(machine, condition, passed, otherwise)
            yield bpf.Label(passed)
        yield from _branches(machine, case.conditions[-1], _returning(case.verdict), otherwise)


def _from_case(name: str, cases: rule.Rule, number: int) -> str:
    """The label to continue with if no case before the case `number` applies to the call."""
    if number == len(cases):
        return _returning(rule.DENY)
    return f"{name} {number}" if cases[number].conditions else _returning(cases[number].verdict)


def _branches(machine: str, condition: rule.Condition, passed: str, otherwise: str) -> Iterator[bpf.Line]:
    yield bpf.Operation(bpf.LOAD_WORD, ARGUMENTS_AT + 8 * condition.argument + 4 * condition.is_upper_half)
    if (mask := condition.mask(machine)) != rule.ALL_BITS:
        yield bpf.Operation(bpf.AND, mask)
    for value in condition.values[:-1]:
        yield bpf.Branch(bpf.JUMP_IF_EQUAL, value, if_true=passed)
    yield bpf.Branch(bpf.JUMP_IF_EQUAL, condition.values[-1], passed, otherwise)
