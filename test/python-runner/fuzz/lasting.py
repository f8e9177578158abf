"""The zygotes of a runner, without the children that are being forked at the moment and look like one."""

import time

from support.process_tree import zygotes_of

#: A child leaves its zygote's session some milliseconds after its birth.
READS, PAUSE_SECONDS = 5, 0.03


def lasting_zygotes(runner: int) -> set[int]:
    """Those that every read finds."""
    zygotes = zygotes_of(runner)
    for _ in range(READS):
        time.sleep(PAUSE_SECONDS)
        zygotes &= zygotes_of(runner)
    return zygotes
