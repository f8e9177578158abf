"""The settings of the operator, read once from the environment and the arguments."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolrack_runner.server.package_settings import PackageSettings, read_package_settings
from toolrack_runner.server.variables import SettingsError, whole_number

if TYPE_CHECKING:
    from toolrack_runner.server.network.public_address import Network

#: The layers of the jail that `--without` can switch off.
LAYERS = ("rlimits", "identity", "landlock", "seccomp", "namespaces")
LEVELS = ("L0", "L1", "L2", "L3", "L4")
#: The default number of calls at once.
SLOTS = 8


@dataclass(frozen=True, slots=True)
class Settings:
    host: str
    port: int
    #: How many calls run at once.
    slots: int
    #: The most slots that one user may use at once. None means half of all slots.
    user_slots: int | None
    #: The lowest level of isolation at which user code may run.
    min_isolation: str
    #: The most bytes of memory for all children together that wait for calls.
    pool_bytes: int
    #: Layers of the jail that the operator has switched off, to find out which of them does not work on a platform.
    without: tuple[str, ...]
    #: True if the runner reads its secret from standard input. Then it stops when standard input ends.
    has_parent: bool
    #: Networks that are not public and that tools may connect to.
    network_allowed: "tuple[Network, ...]"
    #: What modules may have of packages.
    packages: PackageSettings
    #: Whether a process may serve several calls, if its module allows it.
    reuse: bool = True

    @property
    def is_for_one_user(self) -> bool:
        """True if one user may use all slots. Then there are no other users who would have to wait."""
        return self.user_slots == self.slots


def read_settings(
    environment: Mapping[str, str] = os.environ, arguments: Sequence[str] = tuple(sys.argv[1:])
) -> Settings:
    """Reads the settings; raises SettingsError."""
    in_cloud = "K_SERVICE" in environment
    has_parent = "--parent=stdin" in arguments
    without = tuple(each.removeprefix("--without=") for each in arguments if each != "--parent=stdin")
    for argument in arguments:
        if argument not in {"--parent=stdin", *(f"--without={layer}" for layer in LAYERS)}:
            raise SettingsError(
                f"the argument {argument!r} is not known: use --parent=stdin, or --without=<layer> "
                f"with one of {', '.join(LAYERS)}"
            )
    if without and in_cloud:
        raise SettingsError("--without cannot be used if K_SERVICE is set: every layer stays on in the cloud")
    if not has_parent and not in_cloud:
        raise SettingsError(
            "nobody guards this runner: start it with --parent=stdin and a secret as the first line of standard "
            "input, or as a Cloud Run service (K_SERVICE), where IAM guards it"
        )
    slots = whole_number(environment, "TOOLRACK_RUNNER_SLOTS", SLOTS, lowest=1, highest=100)
    level = environment.get("TOOLRACK_RUNNER_MIN_ISOLATION", "L2")
    if level not in LEVELS:
        raise SettingsError(f"TOOLRACK_RUNNER_MIN_ISOLATION: {level!r} is none of {', '.join(LEVELS)}")
    return Settings(
        host=environment.get("HOST", "0.0.0.0" if in_cloud else "127.0.0.1"),  # noqa: S104 - Cloud Run asks for it
        port=whole_number(environment, "PORT", 8080 if in_cloud else 0, lowest=0, highest=65535),
        slots=slots,
        user_slots=_user_slots(environment, slots),
        min_isolation=level,
        pool_bytes=whole_number(environment, "TOOLRACK_RUNNER_POOL_MB", 256, lowest=0, highest=1 << 20) << 20,
        without=without,
        has_parent=has_parent,
        network_allowed=_networks(environment.get("TOOLRACK_RUNNER_NETWORK_ALLOW", "")),
        packages=read_package_settings(environment),
        reuse=_reuse(environment.get("TOOLRACK_REUSE", "")),
    )


def _user_slots(environment: Mapping[str, str], slots: int) -> int | None:
    name = "TOOLRACK_RUNNER_USER_SLOTS"
    text = environment.get(name, "")
    if not text:
        return None
    if text == "all":
        return slots
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= slots:
        raise SettingsError(
            f"{name}: {text!r} is neither `all` nor a whole number from 1 to the {slots} slots"
        )
    return int(text)


def _reuse(text: str) -> bool:
    if text not in ("", "on", "off"):
        raise SettingsError(f"TOOLRACK_REUSE: {text!r} is neither `on` nor `off`")
    return text != "off"


def _networks(text: str) -> "tuple[Network, ...]":
    if not text:
        return ()
    from toolrack_runner.server.network.public_address import read_networks

    try:
        return read_networks(text)
    except ValueError:
        raise SettingsError(
            "TOOLRACK_RUNNER_NETWORK_ALLOW is not a list of networks such as 10.1.0.0/16,fd12::/16"
        ) from None
