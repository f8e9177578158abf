"""Whose child it is."""

from dataclasses import dataclass

from toolrack_runner.network.hosts import Host
from toolrack_runner.zygote.messages import Limits


@dataclass(frozen=True, slots=True)
class Key:
    """Children of one key are alike, and no other key's calls ever reach them."""

    tenant: str
    module: str
    sha256: str
    limits: Limits
    #: The hosts that its calls may be connected to.
    network: tuple[Host, ...] = ()
