"""Sets limits as a child does."""

from pathlib import Path

from toolrack_runner.child.jail.rlimits import MemoryInUse, memory_in, plan_limits, set_limits
from toolrack_runner.wire.zygote_messages import Limits


def memory_in_use() -> MemoryInUse:
    """Of this process now; zeros if no more files can be opened."""
    try:
        return memory_in(Path("/proc/self/status").read_bytes())
    except OSError:
        return MemoryInUse()


def apply(
    *, processes: int | None = None, in_use: MemoryInUse | None = None, **limits: int
) -> tuple[str, ...]:
    """Sets the default limits with some changed, and names those in force."""
    return set_limits(plan_limits(Limits(**limits), processes=processes, in_use=in_use or memory_in_use()))
