"""What the routes work with."""

from dataclasses import dataclass, field

from toolrack_runner.http.fault import Fault
from toolrack_runner.level.measurement import ONLY_LINUX, Measurement, Unmeasured
from toolrack_runner.pool.admission import Admission
from toolrack_runner.pool.pool import Pool
from toolrack_runner.pool.sources import Sources
from toolrack_runner.settings import LEVELS, Settings


@dataclass
class Runner:
    """One for each process."""

    settings: Settings
    #: None where this system has no way to make children.
    pool: Pool | None
    admission: Admission
    measurement: Measurement | Unmeasured
    sources: Sources = field(default_factory=Sources)

    def require_pool(self) -> Pool:
        """Where children come from; raises Fault where they come from nowhere."""
        if self.pool is None:
            raise Fault("ISOLATION_UNAVAILABLE", f"no user code runs here: {ONLY_LINUX}")
        return self.pool

    def close(self) -> None:
        """Kills every child, and leaves nothing behind."""
        self.measurement.close()
        if self.pool is not None:
            self.pool.close()

    def busy(self) -> Fault:
        """What is said to who finds every slot taken and the queue full."""
        return Fault(
            "RUNNER_BUSY",
            f"{self.admission.slots} calls run and twice as many wait: come again",
            retry_after_seconds=1,
        )

    @property
    def is_ready(self) -> bool:
        """Whether calls are taken now."""
        return self.pool is not None and self.pool.zygotes.plain_is_ready.is_set()

    async def require_level(self, wanted: str | None) -> str:
        """The level measured, once it is; raises Fault where it is below what is asked for, and nothing runs."""
        measured = (await self.measurement.done()).level
        needed = max(self.settings.min_isolation, wanted or "", key=lambda level: LEVELS.index(level or "L0"))
        if LEVELS.index(measured) < LEVELS.index(needed):
            raise Fault(
                "ISOLATION_UNAVAILABLE",
                f"isolation {needed} is asked for and {measured} is what this machine was measured at; "
                "GET /health says which layer is missing, and why",
            )
        return measured
