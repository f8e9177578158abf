"""A probe: one attack that is tried at boot, without harm, to measure the jail; and the layers that hold it."""

import errno
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from toolrack_runner.level.canaries import Canaries

Layer = Literal["kernel", "hygiene", "rlimits", "identity", "landlock", "seccomp", "namespaces"]
Level = Literal["L1", "L2", "L3"]

ESCAPED: Final = "escaped"
#: The call reported success and nothing had been done.
UNCHANGED: Final = "unchanged"


class NothingDoneError(Exception):
    """Raised by a probe whose call reported success, if nothing has changed."""


@dataclass(frozen=True)
class Probe:
    """One attack. `as_root` and `as_user` say what the probe sees if a layer holds it."""

    name: str
    attack: str
    """The attack that it stands for, in one sentence."""
    attempt: Callable[[Canaries], None]
    """Returns if the attack succeeded, after undoing it. Raises OSError if it failed."""
    level: Level
    """The level that needs this attack to fail."""
    as_root: Mapping[Layer, frozenset[str]]
    """If the runner is root and each child has a uid of its own (the layer `identity`)."""
    as_user: Mapping[Layer, frozenset[str]]
    """If the runner is an ordinary user."""
    is_combinable: bool = True
    """It leaves its process as it was, even if it succeeds: several may share a child, in any order."""

    def try_it(self, canaries: Canaries) -> str:
        """Runs in the confined child. What it saw: ESCAPED, UNCHANGED, the name of an errno, or another exception.

        If the child ends without an answer, the attack has succeeded.
        """
        try:
            self.attempt(canaries)
        except NothingDoneError:
            return UNCHANGED
        except OSError as error:
            return errno.errorcode.get(error.errno or 0, repr(error))
        except BaseException as error:  # noqa: BLE001 - main treats it as unexpected
            return repr(error)
        return ESCAPED


def holders(probe: Probe, *, as_root: bool) -> Mapping[Layer, frozenset[str]]:
    """The layers that hold a probe, and what each lets it see."""
    return probe.as_root if as_root else probe.as_user


def is_on(layer: Layer, layers_on: Collection[str]) -> bool:
    """True if a layer is on. `kernel`, which every Linux does, and `hygiene`, which every child does, always are."""
    return layer in {"kernel", "hygiene"} or layer in layers_on


def expected(probe: Probe, layers_on: Collection[str], *, as_root: bool) -> Mapping[Layer, frozenset[str]]:
    """The layers that are on and hold the probe, and what each lets it see."""
    held = holders(probe, as_root=as_root)
    return {layer: saws for layer, saws in held.items() if is_on(layer, layers_on)}


def held_by(probe: Probe, saw: str, layers_on: Collection[str], *, as_root: bool) -> tuple[Layer, ...]:
    """The layers that explain what a probe saw. Without one, the attack escaped, or failed in a way that proves nothing."""
    return tuple(layer for layer, saws in expected(probe, layers_on, as_root=as_root).items() if saw in saws)
