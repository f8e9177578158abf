"""The level that what the twins saw amounts to."""

from collections.abc import Mapping
from dataclasses import dataclass

from toolrack_runner.level.twin import Held, Sight, Twin, holders, is_on, judge

LAYERS = ("hygiene", "rlimits", "identity", "landlock", "seccomp", "namespaces")


@dataclass(frozen=True)
class Layer:
    """One layer of the jail, whether it is on, and the attacks that were seen to fail as it makes them fail."""

    name: str
    on: bool
    reason: str | None
    proved_by: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """As `/health` shows it."""
        shown: dict[str, object] = {"name": self.name, "on": self.on, "provedBy": self.proved_by}
        return shown if self.reason is None else shown | {"reason": self.reason}


@dataclass(frozen=True)
class Proof:
    """One attack, and what its harmless twin saw."""

    attack: str
    level: str
    held: bool
    expected: tuple[str, ...]
    saw: str
    by: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """As `/health` shows it."""
        return {
            "name": self.attack,
            "level": self.level,
            "held": self.held,
            "expected": self.expected,
            "saw": self.saw,
            "by": self.by,
        }


@dataclass(frozen=True)
class Measured:
    """The level, and all that it rests on."""

    level: str
    layers: tuple[Layer, ...]
    proofs: tuple[Proof, ...]


def weigh(
    sights: Mapping[str, Sight], twins: tuple[Twin, ...], missing: Mapping[str, str], *, as_root: bool
) -> Measured:
    """The highest level whose attacks, and those of the levels below, were all held as expected.

    A twin that saw anything else, or nothing, is not held.
    """
    on = [name for name in LAYERS if name not in missing]
    proofs = tuple(
        _proof(twin, sights.get(twin.name, Sight("no answer")), on, as_root=as_root) for twin in twins
    )
    layers = tuple(
        Layer(
            name,
            name in on,
            missing.get(name),
            tuple(proof.attack for proof in proofs if name in proof.by),
        )
        for name in LAYERS
    )
    return Measured(_level(proofs), layers, proofs)


def _proof(twin: Twin, sight: Sight, on: list[str], *, as_root: bool) -> Proof:
    verdict = judge(twin, sight, on, as_root=as_root)
    expected = sorted(
        saw for layer, saws in holders(twin, as_root=as_root).items() if is_on(layer, on) for saw in saws
    )
    is_held = isinstance(verdict, Held)
    return Proof(
        attack=twin.name,
        level=twin.level,
        held=is_held,
        expected=tuple(dict.fromkeys(expected)),
        saw=sight.saw,
        by=verdict.by if isinstance(verdict, Held) else (),
    )


def _level(proofs: tuple[Proof, ...]) -> str:
    reached = "L0"
    for level in ("L1", "L2", "L3"):
        of_this = [proof for proof in proofs if proof.level == level]
        if not of_this or not all(proof.held for proof in of_this):
            return reached
        reached = level
    return reached
