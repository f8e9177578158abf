"""How much memory this process has."""

import resource

_PAGE_BYTES = resource.getpagesize()


def resident_bytes() -> int:
    """The most that was ever resident, in bytes: what the kernel keeps for getrusage."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
