"""Runs every twin under every set of layers, each in a child of its own."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from jail.forked import fork
from level.planted import planted
from toolrack_runner.jail.descriptors import close_all_except
from toolrack_runner.jail.hygiene import (
    PR_SET_DUMPABLE,
    die_with,
    forbid_new_privileges,
    hide_memory,
    start_session,
)
from toolrack_runner.jail.identity import drop_capabilities, drop_identity
from toolrack_runner.jail.landlock import LandlockRules
from toolrack_runner.jail.linux import prctl
from toolrack_runner.jail.missing import Missing
from toolrack_runner.jail.rlimits import ResourceLimits, data_bytes_in_use
from toolrack_runner.jail.seccomp.program import SeccompProgram
from toolrack_runner.level.plants import Plants
from toolrack_runner.level.twin import ESCAPED, Twin
from toolrack_runner.level.twins import TWINS

NOBODY = 65534
#: Sets of layers under which the twins that can share a child are tried in other company too.
EXTREMES = ("nothing", "identity+landlock+rlimits+seccomp", "landlock+rlimits+seccomp")
SLOT = 60_321

Matrix = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Jail:
    """What the zygote would have prepared."""

    landlock: LandlockRules
    seccomp: SeccompProgram
    data_bytes: int
    parent: int

    def confine(self, layers: frozenset[str], plants: Plants, answer: int) -> None:
        """The order of the runner's own confinement, with layers left out."""
        start_session()
        close_all_except({0, 1, 2, answer, *self.landlock.descriptors})
        if "rlimits" in layers:
            limits = ResourceLimits(processes=64 if "identity" in layers else None)
            limits.apply(data_bytes_already_used=self.data_bytes)
        if "identity" in layers:
            drop_identity(SLOT, SLOT)
        drop_capabilities()
        die_with(self.parent)
        hide_memory()
        forbid_new_privileges()
        if "landlock" in layers:
            self.landlock.apply(writable=plants.workdir)
        if "seccomp" in layers:
            self.seccomp.apply()


def sets_of_layers(*, as_root: bool) -> Iterator[frozenset[str]]:
    """All of them, from none to every layer; only root can give a child another identity."""
    layers = ("rlimits", "identity", "landlock", "seccomp") if as_root else ("rlimits", "landlock", "seccomp")
    for count in range(len(layers) + 1):
        yield from map(frozenset, combinations(layers, count))


def measure(*, as_root: bool) -> Matrix | str:
    """What each twin saw under each set of layers (named by `name_of`); a sentence where a layer is missing."""
    ended = fork(lambda _: _measure(as_root=as_root), seconds_max=120)
    assert isinstance(ended.value, dict | str), f"the runner's stand-in ended with {ended}"
    return ended.value


def name_of(layers: frozenset[str]) -> str:
    return "+".join(sorted(layers)) or "nothing"


def _measure(*, as_root: bool) -> Matrix | str:
    if not as_root and os.getuid() == 0:
        drop_identity(NOBODY, NOBODY)
        prctl(PR_SET_DUMPABLE, 1)
    landlock = LandlockRules.prepare([os.path.dirname(os.__file__)])
    seccomp = SeccompProgram.prepare()
    for layer in (landlock, seccomp):
        if isinstance(layer, Missing):
            return layer.reason
    assert isinstance(landlock, LandlockRules)
    assert isinstance(seccomp, SeccompProgram)
    if landlock.abi < 6:
        return f"this kernel's Landlock (ABI {landlock.abi}) knows no scopes"
    jail = Jail(landlock, seccomp, data_bytes_in_use(), os.getpid())
    matrix: Matrix = {}
    for layers in sets_of_layers(as_root=as_root):
        with planted(worker=SLOT if "identity" in layers else os.getuid()) as plants:

            def see(*twins: Twin, layers: frozenset[str] = layers, plants: Plants = plants) -> dict[str, str]:
                return _run(twins, jail, layers, plants)

            together = [twin for twin in TWINS if twin.is_combinable]
            seen = see(*together)
            for twin in TWINS:
                if not twin.is_combinable:
                    seen |= see(twin)
            matrix[name_of(layers)] = seen
            if name_of(layers) in EXTREMES:
                matrix[f"{name_of(layers)}, in reverse"] = see(*reversed(together))
                matrix[f"{name_of(layers)}, alone"] = {
                    name: saw for twin in together for name, saw in see(twin).items()
                }
    return matrix


def _run(twins: tuple[Twin, ...], jail: Jail, layers: frozenset[str], plants: Plants) -> dict[str, str]:
    """What twins saw that share one child."""

    def confined(answer: int) -> object:
        jail.confine(layers, plants, answer)
        return {twin.name: twin.try_it(plants).saw for twin in twins}

    ended = fork(confined)
    if isinstance(ended.value, dict):
        return ended.value
    # Without an answer it has become another program.
    vanished = ESCAPED if ended.value is None and ended.code == 0 else f"ended with {ended}"
    return {twin.name: vanished for twin in twins}
