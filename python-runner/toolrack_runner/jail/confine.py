"""The jail of one child, in the order that the kernel asks for.

Prepared once in the zygote, so that the child's share is a few dozen system calls. A layer that is announced as on and then
fails ends the child: user code never runs in less than what `/health` says.
"""

import os
from dataclasses import dataclass

from toolrack_runner.jail.descriptors import close_all_except
from toolrack_runner.jail.hygiene import (
    close_stdin,
    come_after_the_runner,
    die_with,
    forbid_new_privileges,
    hide_memory,
    keep_files_private,
    start_session,
)
from toolrack_runner.jail.identity import drop_bounding_set, drop_capabilities, drop_identity
from toolrack_runner.jail.landlock import LandlockRules
from toolrack_runner.jail.linux import ON_LINUX
from toolrack_runner.jail.missing import Missing
from toolrack_runner.jail.namespaces import Namespaces, enter_namespaces
from toolrack_runner.jail.rlimits import (
    THREADS_MAX,
    MemoryInUse,
    PlannedLimits,
    ResourceLimits,
    memory_in,
    set_limits,
)
from toolrack_runner.jail.seccomp.program import SeccompProgram
from toolrack_runner.jail.who_can_read import closed_to_others
from toolrack_runner.jail.work_directories import make_directory, start_emptying
from toolrack_runner.zygote.messages import Limits, Opening

#: The uid of slot 0; Linux distributions leave 60000 to 64999 to nobody.
FIRST_UID = 60_000
#: The kernel's account of a process has some 1,500.
STATUS_BYTES = 1 << 14
#: Limits that are remembered as the kernel wants them; callers choose their numbers.
PLANS_MAX = 64

SWITCHED_OFF = Missing("switched off by the operator (--without)")


@dataclass(frozen=True)
class Workplace:
    """Who a child is, where it may write, and what it may take."""

    path: str
    uid: int
    gid: int
    limits: PlannedLimits


class Confinement:
    """Which layers are on, and what they need that is prepared once."""

    def __init__(
        self,
        *,
        base: str,
        first_uid: int | Missing,
        rlimits: bool,
        landlock: LandlockRules | Missing,
        seccomp: SeccompProgram | Missing,
        namespaces: Namespaces | Missing,
        status: int,
    ) -> None:
        self._base = base
        self._first_uid = first_uid
        self._rlimits = rlimits
        self._landlock = landlock
        self._seccomp = seccomp
        self._namespaces = namespaces
        self._status = status
        self._in_use = MemoryInUse()
        self._planned: dict[Limits, PlannedLimits] = {}
        self._zygote = os.getpid()

    @property
    def missing(self) -> dict[str, str]:
        """Why a layer is not on, by its name."""
        layers: dict[str, object] = {
            "rlimits": True if self._rlimits else SWITCHED_OFF,
            "identity": self._first_uid,
            "landlock": self._landlock,
            "seccomp": self._seccomp,
            "namespaces": self._namespaces,
        }
        return {name: layer.reason for name, layer in layers.items() if isinstance(layer, Missing)}

    @property
    def landlock_abi(self) -> int:
        """The kernel's version of Landlock; 0 where it is not on."""
        return 0 if isinstance(self._landlock, Missing) else self._landlock.abi

    def settle(self) -> None:
        """The zygote is as its children will be forked: notes what memory they share."""
        if not isinstance(self._first_uid, Missing):
            drop_bounding_set()
        if not isinstance(self._namespaces, Missing):
            name_workplace(self._namespaces.workplace)
        self.note_memory()

    def note_memory(self) -> None:
        """What the zygote holds by now, children share, and their own memory comes on top."""
        if self._status >= 0:
            self._in_use = memory_in(os.pread(self._status, STATUS_BYTES, 0))
        self._planned.clear()

    @property
    def anonymous_bytes(self) -> int:
        """Of the memory that children share with the zygote, what no file is behind."""
        return self._in_use.anonymous_bytes

    def make_workplace(self, slot: int, limits: Limits) -> Workplace:
        """Who the child of a slot is to be, what it may take, and a directory for it where it will not mount one."""
        uid, gid = self._user_of(slot)
        planned = self._plan(limits)
        if not isinstance(self._namespaces, Missing):
            return Workplace(self._namespaces.workplace, uid, gid, planned)
        return Workplace(make_directory(self._base, slot, uid, gid), uid, gid, planned)

    def _plan(self, limits: Limits) -> PlannedLimits:
        planned = self._planned.get(limits)
        if planned is None:
            if len(self._planned) >= PLANS_MAX:
                self._planned.clear()
            planned = _limits(limits, has_uid=self._has_uid).planned(in_use=self._in_use)
            self._planned[limits] = planned
        return planned

    def clear_workplace(self, slot: int) -> int | None:
        """The child of the slot is reaped: what it wrote goes too. Tells the pid of who removes it; the slot is not
        to be had before its end. With namespaces the kernel has done it.
        """
        if not isinstance(self._namespaces, Missing):
            return None
        uid, gid = self._user_of(slot)
        return start_emptying(self._base, slot, uid, gid)

    def _user_of(self, slot: int) -> tuple[int, int]:
        if isinstance(self._first_uid, Missing):
            return os.geteuid(), os.getegid()
        return self._first_uid + slot, self._first_uid + slot

    def confine(self, workplace: Workplace, *, keep: tuple[int, ...]) -> None:
        """Confines this process, a child of the zygote, for good. Only `keep` and the standard streams stay open."""
        start_session()
        if ON_LINUX:
            come_after_the_runner()
        # Opened by each child for itself: flags and position of an open file are one for all who inherit it.
        close_stdin(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        keep_files_private()
        if not isinstance(self._namespaces, Missing):
            self._namespaces.enter_own(workplace.uid, workplace.gid)
        else:
            os.chdir(workplace.path)
            name_workplace(workplace.path)
        if self._has_uid:
            drop_identity(workplace.uid, workplace.gid)
        if ON_LINUX:
            drop_capabilities()
            die_with(self._zygote)
            hide_memory()
            forbid_new_privileges()
        if not isinstance(self._landlock, Missing):
            self._landlock.apply(writable=workplace.path)
        close_all_except((0, 1, 2, *keep))
        # Not before: the zygote's descriptors of other children are more than a child may open.
        if self._rlimits:
            set_limits(workplace.limits)
        if not isinstance(self._seccomp, Missing):
            self._seccomp.apply()

    @property
    def _has_uid(self) -> bool:
        return not isinstance(self._first_uid, Missing)


def name_workplace(path: str) -> None:
    """Where `tempfile` and what asks for a home find a place to write."""
    os.environ["HOME"] = os.environ["TMPDIR"] = path


def _limits(limits: Limits, *, has_uid: bool) -> ResourceLimits:
    return ResourceLimits(
        memory_bytes=limits.memory_bytes,
        address_space_bytes=limits.address_space_bytes,
        cpu_seconds=limits.cpu_seconds,
        file_bytes=limits.file_bytes,
        open_files=limits.open_files,
        processes=THREADS_MAX if has_uid else None,
    )


def prepare_confinement(opening: Opening) -> Confinement:
    """Finds out in the zygote which layers there are, and prepares them. Goes on in a new process; see namespaces.py."""
    namespaces: Namespaces | Missing = SWITCHED_OFF
    if "namespaces" not in opening.without:
        namespaces = enter_namespaces(opening.read_only)
    landlock: LandlockRules | Missing = SWITCHED_OFF
    if "landlock" not in opening.without:
        landlock = LandlockRules.prepare(opening.read_only)
    seccomp: SeccompProgram | Missing = SWITCHED_OFF
    if "seccomp" not in opening.without:
        seccomp = SeccompProgram.prepare()
    if isinstance(namespaces, Missing):
        os.makedirs(opening.base, 0o711, exist_ok=True)
        status = os.open("/proc/self/status", os.O_RDONLY) if ON_LINUX else -1
    else:
        status = namespaces.status
    return Confinement(
        base=opening.base,
        first_uid=_first_uid(opening, has_own_root=not isinstance(namespaces, Missing)),
        rlimits="rlimits" not in opening.without,
        landlock=landlock,
        seccomp=seccomp,
        namespaces=namespaces,
        status=status,
    )


def _first_uid(opening: Opening, *, has_own_root: bool) -> int | Missing:
    if "identity" in opening.without:
        return SWITCHED_OFF
    if os.geteuid() != 0:
        return Missing("only root can give each child a user of its own")
    # In a root of our own the folders on the way are ours, and open to everyone.
    closed = None if has_own_root else closed_to_others(opening.needed)
    if closed is not None:
        return Missing(
            f"other users can't enter {closed}, where the interpreter lies: "
            "start the runner with a Python that every user can read"
        )
    return FIRST_UID
