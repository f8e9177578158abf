"""A probe: one attack that is tried without harm when the runner starts, to measure the jail.

A layer holds an attack if it makes the attack fail.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

Layer = Literal["kernel", "hygiene", "rlimits", "identity", "landlock", "seccomp", "namespaces"]
Level = Literal["L1", "L2", "L3"]


@dataclass(frozen=True)
class Probe:
    """One attack. `both`, `root` and `user` name the layers that make it fail, each with what the probe then observes."""

    name: str
    """The name of the function that tries the attack (`child/level/attempts.py`)."""
    level: Level
    """The lowest level at which this attack must fail."""
    both: Mapping[Layer, str]
    """The layers and observations that are the same for every user of the runner."""
    root: Mapping[Layer, str] = field(default_factory=dict)
    """Additional ones if the runner is root and each child has its own uid (the layer `identity`)."""
    user: Mapping[Layer, str] = field(default_factory=dict)
    """Additional ones if the runner is an ordinary user."""


def holders(probe: Probe, *, as_root: bool) -> Mapping[Layer, str]:
    """The layers that make the attack of a probe fail, each with the observation of the probe."""
    return {**probe.both, **(probe.root if as_root else probe.user)}


def expected(probe: Probe, layers_on: Collection[str], *, as_root: bool) -> Mapping[Layer, str]:
    """Like `holders`, but without layers that are off. `kernel` (every Linux) and `hygiene` (every child) are always on."""
    on = {"kernel", "hygiene", *layers_on}
    return {layer: saw for layer, saw in holders(probe, as_root=as_root).items() if layer in on}


def held_by(probe: Probe, saw: str, layers_on: Collection[str], *, as_root: bool) -> tuple[Layer, ...]:
    """The layers that explain this observation. If there is none, the attack succeeded, or its failure proves nothing."""
    held = expected(probe, layers_on, as_root=as_root)
    return tuple(layer for layer, explained in held.items() if explained == saw)
