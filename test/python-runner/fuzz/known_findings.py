"""What was found: every case runs first in each run. Those whose hole is not closed yet are named in KNOWN_OPEN."""

from typing import Final

from fuzz.call_plan import Call, Case, case_in_threads, case_of

#: Observer and calls of findings that are known and not closed. A test fails when one is found no longer: then it goes.
KNOWN_OPEN: Final[frozenset[tuple[str, str]]] = frozenset()

_SEND: Final[Call] = ["sendto", "out:0", "mem:many", 1 << 20, 0x40, 0, 0]

#: The smallest case of each finding. Those that tell of a process are found by comparing answers, which each run does too.
PAST_FINDINGS: Final[tuple[Case, ...]] = (
    # A lock on /dev/null, which all children and the machine share, is seen and seen by others.
    case_of(["fcntl", "fd:null", 6, "mem:lock_write"]),
    case_of(["fcntl", "fd:library", 6, "mem:lock_read"]),
    case_of(["flock", "fd:library", 5]),
    case_of(["flock", "fd:stdin", 1]),
    # SO_PEERPIDFD of the channel is a handle on main.
    case_of(["getsockopt", "fd:channel", 1, 77, "mem:good", "mem:length"]),
    # Buffers of 8 MB where the system lets a socket have them.
    case_of(
        ["socketpair", 1, 1, 0, "mem:good"],
        ["setsockopt", "out:0", 1, 7, "mem:large", 4],
        *[_SEND] * 8,
        times=60,
    ),
    # As an ordinary user nothing limits how many.
    case_of(["thread"], times=4_000),
    # CLOSE_RANGE_UNSHARE: a table of descriptors for each thread.
    case_in_threads(["close_range", "fd:stdin", "fd:stdin", 2]),
)
