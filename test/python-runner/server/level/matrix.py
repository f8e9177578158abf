"""Runs every probe under every set of layers."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

from child.jail.forked import fork
from child.jail.limits import apply, memory_in_use
from server.level.canaries import put_canaries
from toolrack_runner.child.jail.hygiene import (
    PR_SET_DUMPABLE,
    close_all_except,
    die_with,
    forbid_new_privileges,
    hide_memory,
    separate_from_zygote,
)
from toolrack_runner.child.jail.identity import drop_capabilities, drop_identity
from toolrack_runner.child.jail.landlock import LandlockRules
from toolrack_runner.child.jail.linux import Unavailable, prctl
from toolrack_runner.child.jail.namespaces import Namespaces, enter_namespaces
from toolrack_runner.child.jail.rlimits import MemoryInUse
from toolrack_runner.child.jail.seccomp.program import SeccompProgram
from toolrack_runner.child.level.attempts import ALONE, COMBINABLE, Attempt, try_it
from toolrack_runner.wire.canaries import Canaries
from toolrack_runner.wire.sight import ESCAPED

NOBODY = 65534
SLOT = 60_321
READ_ONLY = [os.path.dirname(os.__file__)]

Matrix = dict[str, dict[str, str]]


@dataclass(frozen=True)
class World:
    """Whose runner it is, and whether its children have namespaces."""

    as_root: bool
    has_namespaces: bool

    def sets_of_layers(self) -> Iterator[frozenset[str]]:
        """All that there are here, from the fewest layers to the most; only root can give an identity away."""
        always = {"namespaces"} if self.has_namespaces else set()
        layers = ["rlimits", "landlock", "seccomp", *(["identity"] if self.as_root else [])]
        for count in range(len(layers) + 1):
            yield from (frozenset({*chosen, *always}) for chosen in combinations(layers, count))

    def extremes(self) -> tuple[frozenset[str], frozenset[str]]:
        """The fewest layers, and the most."""
        first, *_, last = self.sets_of_layers()
        return first, last


@dataclass(frozen=True)
class Jail:
    """What the zygote would have prepared."""

    landlock: LandlockRules
    seccomp: SeccompProgram
    namespaces: Namespaces | None
    in_use: MemoryInUse
    parent: int

    def confine(self, layers: frozenset[str], canaries: Canaries, answer: int) -> None:
        """The order of the runner's own confinement, with layers left out."""
        uid = SLOT if "identity" in layers else os.getuid()
        separate_from_zygote()
        if self.namespaces is not None:
            self.namespaces.enter_own(uid, uid)
        close_all_except({0, 1, 2, answer, canaries.passed, canaries.severed, *self.landlock.descriptors})
        if "rlimits" in layers:
            apply(processes=64 if "identity" in layers else None, in_use=self.in_use)
        if "identity" in layers:
            drop_identity(uid, uid)
        drop_capabilities()
        die_with(self.parent)
        hide_memory()
        forbid_new_privileges()
        if "landlock" in layers:
            self.landlock.apply(writable=canaries.workdir)
        if "seccomp" in layers:
            self.seccomp.apply()

    def see(self, attempts: Sequence[Attempt], layers: frozenset[str], canaries: Canaries) -> dict[str, str]:
        """What probes saw that share one child."""

        def confined(answer: int) -> object:
            self.confine(layers, canaries, answer)
            return {attempt.__name__: try_it(attempt, canaries) for attempt in attempts}

        ended = fork(confined)
        if isinstance(ended.value, dict):
            return ended.value
        # Without an answer it has become another program.
        vanished = ESCAPED if ended.value is None and ended.code == 0 else f"ended with {ended}"
        return {attempt.__name__: vanished for attempt in attempts}


@cache
def measure(world: World) -> Matrix | str:
    """What each probe saw under each set of layers (`name_of`); a sentence where this machine lacks a layer.

    Measured once, in a fresh interpreter, as forking one that is full of tests takes several times as long.
    """
    text = f"""
        import json, sys
        sys.path[:0] = {sys.path!r}
        from server.level.matrix import World, as_runner
        print(json.dumps(as_runner({world!r})))
    """
    command = [sys.executable, "-I", "-c", textwrap.dedent(text)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    measured = json.loads(ended.stdout)
    assert isinstance(measured, dict | str), f"the runner's stand-in ended with {measured}"
    return measured


def name_of(layers: frozenset[str]) -> str:
    """As the matrix calls a set of layers."""
    return "+".join(sorted(layers)) or "nothing"


def as_runner(world: World) -> object:
    """The process that starts zygotes: puts out canaries, and waits for what its zygote measures."""
    if not world.as_root and os.getuid() == 0:
        drop_identity(NOBODY, NOBODY)
        prctl(PR_SET_DUMPABLE, 1)
    with (
        put_canaries(worker=os.getuid()) as own,
        put_canaries(worker=SLOT if world.as_root else os.getuid()) as slots,
    ):
        return fork(lambda _: _as_zygote(world, own, slots), seconds_max=120).value


def _as_zygote(world: World, own: Canaries, slots: Canaries) -> Matrix | str:
    in_use = memory_in_use()
    namespaces = enter_namespaces(READ_ONLY) if world.has_namespaces else None
    landlock, seccomp = LandlockRules.prepare(READ_ONLY), SeccompProgram.prepare()
    for layer in (namespaces, landlock, seccomp):
        if isinstance(layer, Unavailable):
            return layer.reason
    assert isinstance(landlock, LandlockRules)
    assert isinstance(seccomp, SeccompProgram)
    assert not isinstance(namespaces, Unavailable)
    if landlock.abi < 6:
        return f"this kernel's Landlock (ABI {landlock.abi}) knows no scopes"
    jail = Jail(landlock, seccomp, namespaces, in_use, os.getpid())
    matrix: Matrix = {}
    for layers in world.sets_of_layers():
        canaries = slots if "identity" in layers else own
        if namespaces is not None:
            canaries = replace(canaries, workdir=namespaces.workplace)
        seen = jail.see(COMBINABLE, layers, canaries)
        for attempt in ALONE:
            seen |= jail.see([attempt], layers, canaries)
        matrix[name_of(layers)] = seen
        if layers in world.extremes():
            matrix[f"{name_of(layers)}, in reverse"] = jail.see(COMBINABLE[::-1], layers, canaries)
            alone = [jail.see([attempt], layers, canaries) for attempt in COMBINABLE]
            matrix[f"{name_of(layers)}, alone"] = {name: saw for seen in alone for name, saw in seen.items()}
    return matrix
