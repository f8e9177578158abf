"""Switching a layer off lets its attacks through: the measured matrix equals the declared one, cell by cell."""

import os
import subprocess
from dataclasses import replace

import pytest

from level.matrix import Matrix, measure, name_of, sets_of_layers
from toolrack_runner.level.plants import Plants
from toolrack_runner.level.twin import ESCAPED, Escaped, Held, Sight, Twin, Unexpected, holders, is_on, judge
from toolrack_runner.level.twins import TWINS

NOWHERE = Plants(
    victim=-1,
    open_file="",
    private_file="",
    source="",
    open_directory="",
    tcp_port=0,
    udp_port=0,
    abstract_name="",
    socket_file="",
    inherited=-1,
    workdir="",
)

ROOT_IS_HERE = os.getuid() == 0
USERS = [
    pytest.param(True, id="root", marks=pytest.mark.skipif(not ROOT_IS_HERE, reason="needs root")),
    False,
]


@pytest.fixture(scope="module", params=USERS, ids=lambda as_root: "root" if as_root else "user")
def as_root(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def matrix(as_root: bool) -> Matrix:
    measured = measure(as_root=as_root)
    if isinstance(measured, str):
        pytest.skip(measured)
    return measured


def test_every_twin_is_held_by_the_layers_declared_and_escapes_without_them(
    matrix: Matrix, as_root: bool
) -> None:
    wrong = []
    for layers in sets_of_layers(as_root=as_root):
        for twin in TWINS:
            saw = matrix[name_of(layers)][twin.name]
            is_declared = any(is_on(layer, layers) for layer in holders(twin, as_root=as_root))
            verdict = judge(twin, Sight(saw), layers, as_root=as_root)
            if not isinstance(verdict, Held if is_declared else Escaped):
                wrong.append(f"{twin.name} under {name_of(layers)}: {verdict}")

    assert wrong == []


def test_twins_that_share_a_child_see_what_they_see_alone(matrix: Matrix) -> None:
    compared = 0
    for name, seen in matrix.items():
        layers, comma, _ = name.partition(",")
        if comma:
            assert seen == {twin.name: matrix[layers][twin.name] for twin in TWINS if twin.is_combinable}, (
                name
            )
            compared += 1
    assert compared >= 4


def test_each_layer_alone_holds_something_that_nothing_else_but_it_held(
    matrix: Matrix, as_root: bool
) -> None:
    everything = max(sets_of_layers(as_root=as_root), key=len)
    for layer in everything:
        before, after = matrix[name_of(everything - {layer})], matrix[name_of(everything)]
        let_through = {
            twin.name for twin in TWINS if before[twin.name] == ESCAPED and after[twin.name] != ESCAPED
        }
        # What another user's uid keeps from a child, Landlock and seccomp keep too: its worth is where they are missing.
        if layer != "identity":
            assert let_through, layer


def test_without_layers_almost_everything_escapes(matrix: Matrix, as_root: bool) -> None:
    held = {twin.name for twin in TWINS if matrix["nothing"][twin.name] != ESCAPED}

    if as_root:
        assert held == {"read_environment", "open_raw", "trace_victim", "read_victim", "use_inherited"}
    else:
        assert held == {"open_raw", "use_inherited", "become_root"}


def test_with_all_layers_only_what_takes_namespaces_escapes(matrix: Matrix, as_root: bool) -> None:
    everything = name_of(max(sets_of_layers(as_root=as_root), key=len))
    escaped = {twin.name for twin in TWINS if matrix[everything][twin.name] == ESCAPED}

    assert escaped == {"make_many_files", "see_file"}


def test_memory_that_may_be_read_counts_as_read_also_where_it_is_mapped_otherwise() -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        sight = named("read_victim").try_it(replace(NOWHERE, victim=stranger.pid))
        stranger.kill()

    # EPERM is that of Yama, where it lets only ancestors look.
    assert sight in {Sight(ESCAPED), Sight("EPERM")}


def test_a_twin_that_breaks_tells_so_instead_of_raising() -> None:
    broken = replace(named("signal_victim"), attempt=lambda plants: 1 / plants.tcp_port)  # type: ignore[arg-type]

    assert broken.try_it(NOWHERE) == Sight("ZeroDivisionError('division by zero')")


@pytest.mark.parametrize("saw", ["ENOENT", "EINVAL", "EOVERFLOW", "ENOSYS", "ended with -9", "TypeError()"])
def test_a_failure_that_no_layer_explains_is_not_held(saw: str) -> None:
    layers = frozenset({"rlimits", "identity", "landlock", "seccomp"})
    for twin in TWINS:
        assert judge(twin, Sight(saw), layers, as_root=True) == Unexpected(saw, _expected(twin, layers))


def test_a_layer_that_is_off_explains_nothing() -> None:
    twin = named("send_udp")

    assert judge(twin, Sight("EPERM"), {"seccomp"}, as_root=True) == Held("EPERM", ("seccomp",))
    assert judge(twin, Sight("EPERM"), {"landlock"}, as_root=True) == Unexpected("EPERM", ())
    assert judge(twin, Sight(ESCAPED), {"seccomp"}, as_root=True) == Escaped()


def test_the_names_are_unique_and_every_level_is_proven() -> None:
    assert len({twin.name for twin in TWINS}) == len(TWINS) == 34
    assert {twin.level for twin in TWINS} == {"L1", "L2", "L3"}
    assert all(twin.attack.endswith(".") for twin in TWINS)


def named(name: str) -> Twin:
    return next(twin for twin in TWINS if twin.name == name)


def _expected(twin: Twin, layers: frozenset[str]) -> tuple[str, ...]:
    on = [saws for layer, saws in holders(twin, as_root=True).items() if is_on(layer, layers)]
    return tuple(sorted(frozenset().union(*on)))
