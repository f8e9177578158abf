"""The attacks as uploaded tools, against a runner with every layer and against runners that lack some.

What is expected of each comes from what its probe declares: it is held by the layers that are on, with an errno of theirs,
and it succeeds where none of them is.
"""

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hostile.targets import Targets, put_targets
from hostile.watched_runner import EVERYBODY, watched_runner
from support.live_runner import LiveRunner
from support.quick import QUICK
from toolrack_runner.server.level.probe import Probe, expected, holders
from toolrack_runner.server.level.probes import PROBES
from toolrack_runner.server.settings import LAYERS
from toolrack_runner.wire.sight import UNCHANGED

MODULE = Path(__file__).parent / "modules/attacks.py"
#: So that a tool may be connected to the peer that the test puts out.
ALLOW = {"TOOLRACK_RUNNER_NETWORK_ALLOW": "127.0.0.0/8"}
WHO = ("as_started", "as_nobody")


def is_root(who: str) -> bool:
    return who.startswith("as_started") and os.geteuid() == 0


def attack(live: LiveRunner, targets: Targets, probe: Probe) -> tuple[str, str]:
    """What the tool says came of it, and all that it answered."""
    arguments = {"name": probe.name, "aim": targets.aim()}
    network = [f"localhost:{targets.peer_port}"] if probe.name in OF_A_CONNECTION else []
    answer = live.invoke(MODULE.read_text(), "attacks:attack", arguments, network=network)
    everything = json.dumps(answer)
    if targets.mark in answer["log"]["text"]:
        return "through: another program ran in its place", everything
    return answer.get("text") or answer.get("error", ""), everything


def expected_of(probe: Probe, layers: frozenset[str], *, as_root: bool) -> set[str]:
    """The errnos that a layer which is on explains; none where nothing holds it."""
    return set(expected(probe, layers, as_root=as_root).values())


def judge(live: LiveRunner, targets: Targets, layers: frozenset[str], *, as_root: bool) -> list[str]:
    """Whatever went otherwise than declared."""
    wrong = []
    for probe in PROBES:
        saw, everything = attack(live, targets, probe)
        touched = targets.touched()
        expected = expected_of(probe, layers, as_root=as_root)
        if expected:
            if saw not in expected or touched or targets.canary in everything:
                wrong.append(f"{probe.name} was to be held as {sorted(expected)}: {saw[:300]} {touched}")
        elif not saw.startswith("through"):
            wrong.append(f"{probe.name} was to succeed: {saw[:300]}")
        elif probe.name in LEAVES_A_TRACE and not (touched or targets.canary in everything):
            wrong.append(f"{probe.name} says it succeeded, and nothing was reached: {saw[:300]}")
    return wrong


#: Those that need a connection to the host that their spec names.
OF_A_CONNECTION = {"reconnect_by_fastopen", "reconnect", "set_socket_option"}

#: Those whose success shows at what was put out.
LEAVES_A_TRACE = {
    "read_environment",
    "read_open_file",
    "read_private_file",
    "write_outside",
    "connect_tcp",
    "send_udp",
    "connect_abstract",
    "send_to_socket_file",
    "reconnect",
    "signal_victim",
    "read_victim",
}


@cache
def mutations(*, as_root: bool) -> list[tuple[str, ...]]:
    """Each layer alone, and of each attack all the layers that hold it."""
    layers = [layer for layer in LAYERS if as_root or layer != "identity"]
    alone = [(layer,) for layer in layers]
    together = []
    for probe in PROBES:
        held_by = holders(probe, as_root=as_root)
        if not {"kernel", "hygiene"} & held_by.keys():
            together.append(tuple(layer for layer in layers if layer in held_by))
    return list(dict.fromkeys([*alone, *together]))


def cases() -> Iterator[Any]:
    """Each mutation with each user. `npm test` only switches off one layer at a time, of the runner as it was started."""
    for who in WHO[:1] if QUICK else WHO:
        for without in mutations(as_root=is_root(who)):
            if QUICK and len(without) > 1:
                continue
            yield pytest.param(who, without, id=f"{who} without {' '.join(without)}")


def test_there_is_an_attack_for_every_twin(any_runner: LiveRunner) -> None:
    names = any_runner.invoke(MODULE.read_text(), "attacks:names")["value"]
    assert set(names) == {probe.name for probe in PROBES}
    assert len(names) >= 37


@pytest.mark.parametrize("who", EVERYBODY)
def test_with_every_layer_no_attack_succeeds_and_nothing_is_touched(who: str, canary: str) -> None:
    with (
        watched_runner(who, canary, **ALLOW) as live,
        put_targets(live, canary, as_nobody=who.startswith("as_nobody")) as targets,
    ):
        assert live.health()["isolation"] == "L3"
        layers = frozenset(LAYERS) if is_root(who) else frozenset(LAYERS) - {"identity"}
        assert judge(live, targets, layers, as_root=is_root(who)) == []


@pytest.mark.parametrize(("who", "without"), list(cases()))
def test_without_its_layers_an_attack_succeeds(who: str, without: tuple[str, ...], canary: str) -> None:
    switches = [f"--without={layer}" for layer in without]
    as_root = is_root(who)
    with (
        watched_runner(who, canary, *switches, TOOLRACK_RUNNER_MIN_ISOLATION="L0", **ALLOW) as live,
        put_targets(live, canary, as_nobody=who.startswith("as_nobody")) as targets,
    ):
        health = live.health()
        on = frozenset(layer["name"] for layer in health["layers"] if layer["on"])
        for layer in health["layers"]:
            if layer["name"] in without:
                assert (layer["on"], layer["reason"]) == (False, "switched off by the operator (--without)")
        wrong = judge(live, targets, on, as_root=as_root)
        escaped = [probe.level for probe in PROBES if not expected_of(probe, on, as_root=as_root)]
        lowest = min(escaped, default="L4")
        assert health["isolation"] == {"L1": "L0", "L2": "L1", "L3": "L2", "L4": "L3"}[lowest]
        assert wrong == []


def test_each_attack_succeeds_under_some_mutation() -> None:
    """Or its probe says that a kernel or the runner's hygiene holds it, which are never switched off."""
    for as_root in (True, False):
        for probe in PROBES:
            held_by = holders(probe, as_root=as_root)
            if {"kernel", "hygiene"} & held_by.keys():
                continue
            assert any(held_by.keys() <= {*without, "identity"} for without in mutations(as_root=as_root)), (
                probe.name
            )
        assert UNCHANGED not in {holders(probe, as_root=True).get("landlock") for probe in PROBES}
