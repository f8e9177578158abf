"""A probe: one attack that is tried without harm when the runner starts, to measure the jail.

A layer holds the attack if this layer makes it fail.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

Layer = Literal["kernel", "hygiene", "rlimits", "identity", "landlock", "seccomp", "namespaces"]
Level = Literal["L1", "L2", "L3"]


@dataclass(frozen=True)
class Probe:
    """One attack. `both`, `root` and `user` name the layers that make it fail, each with the observation of the probe then.

    """

    name: str
    """The name of the function that tries the attack (`child/level/attempts.py`)."""
    level: Level
    """The level that needs this attack to fail."""
    both: Mapping[Layer, str]
    """The observations that do not depend on the runner's user."""
    root: Mapping[Layer, str] = field(default_factory=dict)
    """In addition to `both`, if the runner is root and each child has a uid of its own (the layer `identity`)."""
    user: Mapping[Layer, str] = field(default_factory=dict)
    """In addition to `both`, if the runner is an ordinary user."""


def holders(probe: Probe, *, as_root: bool) -> Mapping[Layer, str]:
    """The layers that make the attack of a probe fail, each with the observation of the probe."""
    return {**probe.both, **(probe.root if as_root else probe.user)}


def expected(probe: Probe, layers_on: Collection[str], *, as_root: bool) -> Mapping[Layer, str]:
    """Like `holders`, without the layers that are off. `kernel` (every Linux) and `hygiene` (every child) are always on."""
    on = {"kernel", "hygiene", *layers_on}
    return {layer: saw for layer, saw in holders(probe, as_root=as_root).items() if layer in on}


def held_by(probe: Probe, saw: str, layers_on: Collection[str], *, as_root: bool) -> tuple[Layer, ...]:
    """The layers that cause this observation. If no layer does, the attack succeeded, or its failure proves nothing."""
    held = expected(probe, layers_on, as_root=as_root)
    return tuple(layer for layer, explained in held.items() if explained == saw)
