"""A harmless twin of an attack, and what is made of what it saw."""

import errno
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from toolrack_runner.level.plants import Plants

Layer = Literal["kernel", "hygiene", "rlimits", "identity", "landlock", "seccomp", "namespaces"]
Level = Literal["L1", "L2", "L3"]

ESCAPED: Final = "escaped"
#: The call was answered with success and nothing had been done.
UNCHANGED: Final = "unchanged"


class NothingDone(Exception):
    """Raised by a twin that was told of success and found nothing changed."""


@dataclass(frozen=True)
class Sight:
    """What a twin saw in its child: ESCAPED, UNCHANGED, the name of an errno, or what else was raised."""

    saw: str


@dataclass(frozen=True)
class Held:
    """The attack failed as one of these layers makes it fail."""

    saw: str
    by: tuple[Layer, ...]


@dataclass(frozen=True)
class Escaped:
    """The attack succeeded."""

    saw: str = ESCAPED


@dataclass(frozen=True)
class Unexpected:
    """The attack failed, but not as any layer that is on makes it fail: it proves nothing."""

    saw: str
    expected: tuple[str, ...]


@dataclass(frozen=True)
class Twin:
    """One attack. `as_root` and `as_user` say what each layer that holds it lets it see."""

    name: str
    attack: str
    """What it stands for, in one sentence."""
    attempt: Callable[[Plants], None]
    """Returns where the attack succeeded, having undone it; raises OSError where it failed."""
    level: Level
    """The level that it proves."""
    as_root: Mapping[Layer, frozenset[str]]
    """Where the runner is root and its children have the uid of a slot (the layer `identity`)."""
    as_user: Mapping[Layer, frozenset[str]]
    """Where the runner is an ordinary user."""
    is_combinable: bool = True
    """It leaves its process as it was, also where it succeeds: several may share a child, in any order."""

    def try_it(self, plants: Plants) -> Sight:
        """Runs in the confined child. Where the child vanishes without an answer, the attack has succeeded."""
        try:
            self.attempt(plants)
        except NothingDone:
            return Sight(UNCHANGED)
        except OSError as error:
            return Sight(errno.errorcode.get(error.errno or 0, repr(error)))
        except BaseException as error:  # noqa: BLE001 - told to the parent, which finds it unexpected
            return Sight(repr(error))
        return Sight(ESCAPED)


def judge(
    twin: Twin, sight: Sight, layers_on: Collection[str], *, as_root: bool
) -> Held | Escaped | Unexpected:
    """Held only where a layer that is on explains what was seen. `kernel` and `hygiene` are always on."""
    if sight.saw == ESCAPED:
        return Escaped()
    expected = {
        layer: saws for layer, saws in holders(twin, as_root=as_root).items() if is_on(layer, layers_on)
    }
    by = tuple(layer for layer, saws in expected.items() if sight.saw in saws)
    return (
        Held(sight.saw, by)
        if by
        else Unexpected(sight.saw, tuple(sorted(frozenset().union(*expected.values()))))
    )


def holders(twin: Twin, *, as_root: bool) -> Mapping[Layer, frozenset[str]]:
    """The layers that hold a twin, and what each lets it see."""
    return twin.as_root if as_root else twin.as_user


def is_on(layer: Layer, layers_on: Collection[str]) -> bool:
    """Whether a layer is on; `kernel` is what any Linux keeps its users from, `hygiene` what every child does."""
    return layer in {"kernel", "hygiene"} or layer in layers_on
