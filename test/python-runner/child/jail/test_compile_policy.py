"""The program says what the policy says: compared with a plain reading of the policy, for any call."""

from hypothesis import given, settings
from hypothesis import strategies as st

from child.jail.bpf_interpreter import fill, interpret
from support.quick import examples
from toolrack_runner.child.jail.seccomp.compile_policy import ARCHITECTURES, compile_policy
from toolrack_runner.child.jail.seccomp.policy import CONDITIONAL, verdict_of
from toolrack_runner.child.jail.seccomp.rule import DENY, OWN_PROCESS, Condition
from toolrack_runner.child.jail.seccomp.syscalls import TABLES

OWN = 77_777
PROGRAMS = {machine: compile_policy(machine) for machine in TABLES}
CODES = {
    machine: fill(program.code, program.holes[OWN_PROCESS], OWN) for machine, program in PROGRAMS.items()
}

#: Every value that some condition looks for, and what is near it in one way or another.
LOOKED_FOR = sorted(
    {
        OWN if isinstance(value, str) else value
        for rule in CONDITIONAL.values()
        for case in rule
        for condition in case.conditions
        for value in condition.values
    }
)
numbers = st.one_of(
    st.sampled_from(LOOKED_FOR),
    st.builds(lambda value, bit: value ^ (1 << bit), st.sampled_from(LOOKED_FOR), st.integers(0, 63)),
    st.integers(0, 2**64 - 1),
)
calls = st.tuples(*[numbers] * 6)
#: A machine may lack a call that another has: aarch64 has neither `select` nor `poll`.
PLACES = sorted((machine, name) for machine, table in TABLES.items() for name in CONDITIONAL if name in table)


def plain_reading(machine: str, name: str, arguments: tuple[int, ...]) -> int:
    verdict = verdict_of(name)
    if isinstance(verdict, int):
        return verdict
    for case in verdict:
        if all(holds(machine, condition, arguments) for condition in case.conditions):
            return case.verdict
    return DENY


def holds(machine: str, condition: Condition, arguments: tuple[int, ...]) -> bool:
    half = (
        arguments[condition.argument] >> 32
        if condition.is_upper_half
        else arguments[condition.argument] & 0xFFFFFFFF
    )
    return half & condition.mask(machine) in {
        OWN if value == OWN_PROCESS else value for value in condition.values
    }


@settings(max_examples=examples(3_000), derandomize=True, database=None)
@given(place=st.sampled_from(PLACES), arguments=calls)
def test_for_any_arguments_the_program_says_what_the_policy_says(
    place: tuple[str, str], arguments: tuple[int, ...]
) -> None:
    machine, name = place
    number = TABLES[machine][name]
    said = interpret(CODES[machine], architecture=ARCHITECTURES[machine], number=number, arguments=arguments)

    assert said == plain_reading(machine, name, arguments)
