import pytest

from child.jail.bpf_interpreter import interpret
from toolrack_runner.child.jail.seccomp.assembler import (
    INSTRUCTION,
    JUMP_IF_EQUAL,
    LOAD_WORD,
    RETURN,
    Branch,
    Label,
    Line,
    Operation,
    assemble,
)


def number_7_after(distance: int, *, if_true: bool) -> bytes:
    """Returns 1 for call number 7 and 2 for any other; the way to 1 or to 2 is `distance` instructions long."""
    far, near = ("seven", "other") if if_true else ("other", "seven")
    lines: list[Line] = [
        Operation(LOAD_WORD, 0),
        Branch(JUMP_IF_EQUAL, 7, "seven", "other"),
        Label(near),
        Operation(RETURN, 1 if near == "seven" else 2),
        *[Operation(RETURN, 3)] * (distance - 1),
        Label(far),
        Operation(RETURN, 1 if far == "seven" else 2),
    ]
    return assemble(lines).code


@pytest.mark.parametrize("if_true", [True, False])
@pytest.mark.parametrize("distance", [1, 254, 255, 256, 257, 300, 3000])
def test_a_branch_arrives_however_far_its_label_is(distance: int, if_true: bool) -> None:
    code = number_7_after(distance, if_true=if_true)

    assert interpret(code, architecture=0, number=7) == 1
    assert interpret(code, architecture=0, number=8) == 2


def test_a_branch_whose_both_ways_are_far_arrives_at_both() -> None:
    code = assemble(
        [
            Operation(LOAD_WORD, 0),
            Branch(JUMP_IF_EQUAL, 7, "seven", "other"),
            *[Operation(RETURN, 3)] * 400,
            Label("seven"),
            Operation(RETURN, 1),
            *[Operation(RETURN, 3)] * 400,
            Label("other"),
            Operation(RETURN, 2),
        ]
    ).code

    assert interpret(code, architecture=0, number=7) == 1
    assert interpret(code, architecture=0, number=8) == 2


def test_a_short_jump_costs_one_instruction_and_a_long_one_two() -> None:
    assert len(number_7_after(255, if_true=True)) == (255 + 3) * INSTRUCTION.size
    assert len(number_7_after(256, if_true=True)) == (256 + 3 + 1) * INSTRUCTION.size


def test_a_jump_made_long_that_pushes_another_out_of_reach_makes_that_one_long_too() -> None:
    lines: list[Line] = [
        Operation(LOAD_WORD, 0),
        Branch(JUMP_IF_EQUAL, 7, if_true="end"),
        Branch(JUMP_IF_EQUAL, 8, if_true="far"),
        *[Operation(LOAD_WORD, 0)] * 253,
        Operation(RETURN, 3),
        Label("end"),
        Operation(RETURN, 1),
        Operation(RETURN, 3),
        Label("far"),
        Operation(RETURN, 2),
    ]
    code = assemble(lines).code

    assert [interpret(code, architecture=0, number=number) for number in (7, 8, 9)] == [1, 2, 3]


def test_a_jump_backwards_is_refused() -> None:
    with pytest.raises(ValueError, match="backwards to start"):
        assemble([Label("start"), Operation(LOAD_WORD, 0), Branch(JUMP_IF_EQUAL, 7, if_true="start")])


def test_a_label_that_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError, match="nowhere"):
        assemble([Branch(JUMP_IF_EQUAL, 7, if_true="nowhere")])


def test_a_program_longer_than_the_kernel_takes_is_refused() -> None:
    assert len(assemble([Operation(RETURN, 0)] * 4096).code) == 4096 * INSTRUCTION.size
    with pytest.raises(ValueError, match="4097 instructions"):
        assemble([Operation(RETURN, 0)] * 4097)


def test_a_hole_is_where_its_constant_is() -> None:
    assembled = assemble([Operation(LOAD_WORD, 0), Branch(JUMP_IF_EQUAL, "pid"), Operation(RETURN, 0)])

    assert assembled.holes == {"pid": (INSTRUCTION.size + 4,)}
