"""Switching a layer off lets its attacks through: the measured matrix equals the declared one, cell by cell."""

import os
import subprocess
from dataclasses import replace

import pytest

from server.level.matrix import Matrix, World, measure, name_of
from toolrack_runner.child.level.attempts import ALONE, ATTEMPTS, COMBINABLE, try_it
from toolrack_runner.server.level.probe import Probe, expected, held_by
from toolrack_runner.server.level.probes import PROBES
from toolrack_runner.wire.canaries import Canaries
from toolrack_runner.wire.sight import ESCAPED

NOWHERE = Canaries(
    victim=-1,
    open_file="",
    private_file="",
    source="",
    open_directory="",
    tcp_port=0,
    udp_port=0,
    abstract_name="",
    socket_file="",
    passed=-1,
    severed=-1,
    inherited=-1,
    workdir="",
)

WORLDS = {
    "root": World(as_root=True, has_namespaces=False),
    "user": World(as_root=False, has_namespaces=False),
    "root with namespaces": World(as_root=True, has_namespaces=True),
    "user with namespaces": World(as_root=False, has_namespaces=True),
}


@pytest.fixture(scope="module", params=list(WORLDS))
def world(request: pytest.FixtureRequest) -> World:
    found = WORLDS[request.param]
    if found.as_root and os.getuid() != 0:
        pytest.skip("needs root")
    return found


@pytest.fixture(scope="module")
def matrix(world: World) -> Matrix:
    measured = measure(world)
    if isinstance(measured, str):
        pytest.skip(measured)
    return measured


def escaped(seen: dict[str, str]) -> set[str]:
    return {name for name, saw in seen.items() if saw == ESCAPED}


def test_every_probe_is_held_by_the_layers_declared_and_escapes_without_them(
    matrix: Matrix, world: World
) -> None:
    wrong = []
    for layers in world.sets_of_layers():
        for probe in PROBES:
            is_declared = expected(probe, layers, as_root=world.as_root) != {}
            saw = matrix[name_of(layers)][probe.name]
            is_held = held_by(probe, saw, layers, as_root=world.as_root) != ()
            if not (is_held if is_declared else saw == ESCAPED):
                wrong.append(f"{probe.name} under {name_of(layers)}: {saw}")

    assert wrong == []


def test_probes_that_share_a_child_see_what_they_see_alone(matrix: Matrix, world: World) -> None:
    for layers in map(name_of, world.extremes()):
        together = {attempt.__name__: matrix[layers][attempt.__name__] for attempt in COMBINABLE}
        assert matrix[f"{layers}, in reverse"] == together
        assert matrix[f"{layers}, alone"] == together


def test_with_every_layer_only_what_takes_namespaces_escapes(matrix: Matrix, world: World) -> None:
    held_by_namespaces = set() if world.has_namespaces else {"make_many_files", "see_file"}

    assert escaped(matrix[name_of(world.extremes()[1])]) == held_by_namespaces


def test_without_a_layer_its_attacks_escape(matrix: Matrix, world: World) -> None:
    everything = world.extremes()[1]
    lost = {layer: escaped(matrix[name_of(everything - {layer})]) for layer in everything - {"namespaces"}}

    if not world.has_namespaces:
        assert lost["landlock"] >= {"read_open_file", "read_source", "write_outside", "list_processes"}
    assert lost["seccomp"] >= {"fork_often", "open_netlink", "make_memory_file", "make_user_namespace"}
    assert lost["rlimits"] >= {"allocate", "lift_cpu_limit"}


@pytest.mark.parametrize("world", ["root"], indirect=True)
def test_another_identity_alone_keeps_what_is_root_s_from_a_child(matrix: Matrix) -> None:
    gained = escaped(matrix["nothing"]) - escaped(matrix["identity"])

    assert gained == {"read_private_file", "signal_victim", "become_root", "change_mode"}


@pytest.mark.parametrize(
    ("world", "held"),
    [
        (
            "root",
            {
                "read_environment",
                "open_raw",
                "trace_victim",
                "read_victim",
                "use_inherited",
                "reconnect_by_fastopen",
            },
        ),
        ("user", {"open_raw", "use_inherited", "become_root", "reconnect_by_fastopen"}),
    ],
    indirect=["world"],
)
def test_without_layers_almost_everything_escapes(matrix: Matrix, held: set[str]) -> None:
    assert {probe.name for probe in PROBES} - escaped(matrix["nothing"]) == held


def test_memory_that_may_be_read_counts_as_read_also_where_it_is_mapped_otherwise() -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        saw = try_it(ATTEMPTS["read_victim"], replace(NOWHERE, victim=stranger.pid))
        stranger.kill()

    # EPERM is that of Yama, where it lets only ancestors look.
    assert saw in {ESCAPED, "EPERM"}


def test_a_probe_that_breaks_tells_so_instead_of_raising() -> None:
    def divide(canaries: Canaries) -> None:
        _ = 1 / canaries.tcp_port

    assert try_it(divide, NOWHERE) == "ZeroDivisionError('division by zero')"


@pytest.mark.parametrize("saw", ["ENOENT", "EINVAL", "EOVERFLOW", "ENOSYS", "ended with -9", "TypeError()"])
def test_a_failure_that_no_layer_explains_is_not_held(saw: str) -> None:
    layers = frozenset({"rlimits", "identity", "landlock", "seccomp"})
    for probe in PROBES:
        if (probe.name, saw) == ("grow_stack_mapping", "ENOSYS"):
            continue  # So seccomp answers it, on purpose.
        assert held_by(probe, saw, layers, as_root=True) == ()


def test_a_layer_that_is_off_explains_nothing() -> None:
    probe = named("send_udp")

    assert held_by(probe, "EPERM", {"seccomp"}, as_root=True) == ("seccomp",)
    assert held_by(probe, "EPERM", {"landlock"}, as_root=True) == ()
    assert held_by(probe, ESCAPED, {"seccomp"}, as_root=True) == ()
    assert expected(probe, {"seccomp"}, as_root=True) == {"seccomp": "EPERM"}
    assert expected(probe, {"landlock"}, as_root=True) == {}


def test_the_names_are_unique_and_every_level_is_proven() -> None:
    assert len({probe.name for probe in PROBES}) == len(PROBES) == 47
    assert {probe.level for probe in PROBES} == {"L1", "L2", "L3"}
    assert all((attempt.__doc__ or "").endswith(".") for attempt in ATTEMPTS.values())


def test_a_child_knows_each_probe_and_no_other() -> None:
    assert set(ATTEMPTS) == {probe.name for probe in PROBES}
    assert len(ATTEMPTS) == len(COMBINABLE) + len(ALONE)


def named(name: str) -> Probe:
    return next(probe for probe in PROBES if probe.name == name)
