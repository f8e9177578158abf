"""The jail of one child: all of its layers, in the order that the kernel requires.

The zygote prepares the layers once, so that a child only makes a few dozen system calls. If a layer that is reported as on
fails in a child, the child ends. So user code never runs in a weaker jail than `/health` shows.
"""

import os
from dataclasses import dataclass, field
from functools import lru_cache

from toolrack_runner.child.jail import hygiene, identity
from toolrack_runner.child.jail.landlock import LandlockRules
from toolrack_runner.child.jail.linux import ON_LINUX, Unavailable
from toolrack_runner.child.jail.namespaces import Namespaces, enter_namespaces
from toolrack_runner.child.jail.rlimits import MemoryInUse, memory_in, plan_limits, set_limits
from toolrack_runner.child.jail.seccomp.program import SeccompProgram
from toolrack_runner.child.jail.workplace import Workplace, make_directory, name_workplace, start_emptying
from toolrack_runner.child_bounds import THREADS_MAX
from toolrack_runner.packages_path import PACKAGES_PATH
from toolrack_runner.remove_contents import remove_contents
from toolrack_runner.wire.zygote_messages import Limits, Opening

#: The uid of the child in slot 0. Linux distributions do not assign the uids from 60000 to 64999.
FIRST_UID = 60_000
#: How many bytes of /proc/self/status are read. The file has about 1,500.
STATUS_BYTES = 1 << 14
#: How many sets of planned limits are cached. Callers choose the limits, so there may be many.
PLANS_MAX = 64

SWITCHED_OFF = Unavailable("switched off by the operator (--without)")

_plan_limits = lru_cache(PLANS_MAX)(plan_limits)


@dataclass(slots=True)
class Confinement:
    """The layers that are on, and what is prepared once for all children."""

    base: str
    first_uid: int | Unavailable
    rlimits: bool
    landlock: LandlockRules | Unavailable
    seccomp: SeccompProgram | Unavailable
    namespaces: Namespaces | Unavailable
    status: int
    #: The folder of all environments, or the reason why no child can have one.
    packages: str | Unavailable = SWITCHED_OFF
    in_use: MemoryInUse = field(default_factory=MemoryInUse)
    zygote: int = field(default_factory=os.getpid)

    @property
    def missing(self) -> dict[str, str]:
        """The reason why each missing layer is off, by the name of the layer."""
        layers: dict[str, object] = {
            "rlimits": True if self.rlimits else SWITCHED_OFF,
            "identity": self.first_uid,
            "landlock": self.landlock,
            "seccomp": self.seccomp,
            "namespaces": self.namespaces,
        }
        return {name: layer.reason for name, layer in layers.items() if isinstance(layer, Unavailable)}

    @property
    def is_home_at_one_path(self) -> bool:
        """Whether all children have their homes at the same path.

        The zygote has its home there too while it imports packages.
        """
        return not isinstance(self.namespaces, Unavailable)

    def make_home(self) -> str:
        """Makes a home like that of a child, for the packages that the zygote imports. Goes there, and returns its path."""
        if isinstance(self.namespaces, Unavailable):
            path = f"{self.base}/{os.urandom(8).hex()}"
            os.mkdir(path, 0o700)
            os.chdir(path)
        else:
            path = self.namespaces.workplace
            self.namespaces.mount_workplace(os.geteuid(), os.getegid())
        name_workplace(path)
        return path

    def remove_home(self, path: str) -> None:
        """Removes the home that `make_home` made. With namespaces, raises OSError while a file of the home is in use."""
        if not isinstance(self.namespaces, Unavailable):
            self.namespaces.unmount_workplace()
            return
        remove_contents(path)
        os.chdir("/")
        os.rmdir(path)

    def settle(self) -> None:
        """Ends the preparation. Called after the zygote has imported all modules that its children share."""
        if self._has_uid:
            identity.drop_bounding_set()
        if not isinstance(self.namespaces, Unavailable):
            name_workplace(self.namespaces.workplace)
        self.note_memory()

    def note_memory(self) -> None:
        """Reads how much memory the zygote uses now. Children share this memory, so it is added to their limits."""
        if self.status >= 0:
            self.in_use = memory_in(os.pread(self.status, STATUS_BYTES, 0))

    def make_workplace(
        self, slot: int, limits: Limits, environment: str = "", library_bytes: int = 0
    ) -> Workplace:
        """Describes the workplace of the next child of a slot.

        With namespaces the child mounts its directory, else this makes it.
        """
        uid, gid = self._user_of(slot)
        processes = THREADS_MAX if self._has_uid else None
        planned = _plan_limits(limits, processes=processes, in_use=self.in_use, library_bytes=library_bytes)
        if not isinstance(self.namespaces, Unavailable):
            return Workplace(self.namespaces.workplace, uid, gid, planned, environment)
        path = make_directory(self.base, slot, uid, gid)
        return Workplace(path, uid, gid, planned, environment)

    def packages_of(self, workplace: Workplace) -> str:
        """The path at which a child finds its environment. Empty if it has none. Raises OSError if it cannot have one."""
        if not workplace.environment:
            return ""
        if isinstance(self.packages, Unavailable):
            raise OSError(self.packages.reason)
        if not isinstance(self.namespaces, Unavailable):
            return PACKAGES_PATH
        return f"{self.packages}/{workplace.environment}"

    def clear_workplace(self, slot: int) -> int | None:
        """Starts a process that removes the files that a slot's last child has left, and returns the pid of this process.

        The slot must not be used before the process ends. With namespaces, the kernel removes the files, and the result is
        None.
        """
        if not isinstance(self.namespaces, Unavailable):
            return None
        uid, gid = self._user_of(slot)
        return start_emptying(self.base, slot, uid, gid)

    def _user_of(self, slot: int) -> tuple[int, int]:
        if isinstance(self.first_uid, Unavailable):
            return os.geteuid(), os.getegid()
        return self.first_uid + slot, self.first_uid + slot

    def confine(self, workplace: Workplace, *, keep: tuple[int, ...]) -> None:
        """Confines this process, which is a child of the zygote, permanently.

        Only `keep` and the standard streams stay open.
        """
        packages = self.packages_of(workplace)
        hygiene.separate_from_zygote()
        if ON_LINUX:
            hygiene.come_after_the_runner()
        if not isinstance(self.namespaces, Unavailable):
            self.namespaces.enter_own(workplace.uid, workplace.gid, workplace.environment)
        else:
            os.chdir(workplace.path)
            name_workplace(workplace.path)
        if self._has_uid:
            identity.drop_identity(workplace.uid, workplace.gid)
        if ON_LINUX:
            identity.drop_capabilities()
            hygiene.die_with(self.zygote)
            hygiene.hide_memory()
            hygiene.forbid_new_privileges()
        if not isinstance(self.landlock, Unavailable):
            self.landlock.apply(writable=workplace.path, packages=packages)
        hygiene.close_all_except((0, 1, 2, *keep))
        # The limits are set after `close_all_except`. Before, this child also has the descriptors of other children that it
        # has inherited from the zygote. They can be more than the limit of open files (RLIMIT_NOFILE) allows.
        if self.rlimits:
            set_limits(workplace.limits)
        if not isinstance(self.seccomp, Unavailable):
            self.seccomp.apply()

    @property
    def _has_uid(self) -> bool:
        return not isinstance(self.first_uid, Unavailable)


def prepare_confinement(opening: Opening) -> Confinement:
    """Prepares the layers that this system can have. Runs in the zygote.

    With namespaces, the function returns in a new process (`enter_namespaces`).
    """
    without = opening.without
    # Looked up here, because the new root does not have this path.
    packages = opening.packages if os.path.isdir(opening.packages) else ""
    namespaces = SWITCHED_OFF if "namespaces" in without else enter_namespaces(opening.read_only, packages)
    landlock = SWITCHED_OFF if "landlock" in without else LandlockRules.prepare(opening.read_only)
    seccomp = SWITCHED_OFF if "seccomp" in without else SeccompProgram.prepare()
    if isinstance(namespaces, Unavailable):
        os.makedirs(opening.base, 0o711, exist_ok=True)
        status = os.open("/proc/self/status", os.O_RDONLY) if ON_LINUX else -1
    else:
        status = namespaces.status
    has_own_root = not isinstance(namespaces, Unavailable)
    first_uid = _first_uid(opening, has_own_root=has_own_root)
    has_uid = not isinstance(first_uid, Unavailable)
    return Confinement(
        base=opening.base,
        first_uid=first_uid,
        rlimits="rlimits" not in without,
        landlock=landlock,
        seccomp=seccomp,
        namespaces=namespaces,
        status=status,
        packages=_packages(opening.packages, packages, is_on_disk=has_uid and not has_own_root),
    )


def _packages(wanted: str, folder: str, *, is_on_disk: bool) -> str | Unavailable:
    """The folder of all environments. Unavailable if packages are off, or if the users of slots cannot enter it.

    `folder` is `wanted`, or empty if there is no such folder.
    """
    if not folder:
        return Unavailable(f"there is no folder {wanted}" if wanted else "packages are off in this runner")
    # With namespaces, the zygote mounts the folder where every user may enter.
    closed = identity.closed_to_others((folder,)) if is_on_disk else None
    if closed is not None:
        return Unavailable(
            f"other users can't enter {closed}, which holds the installed packages: "
            "set TOOLRACK_PACKAGES_DIR to a folder that every user can enter"
        )
    return folder


def _first_uid(opening: Opening, *, has_own_root: bool) -> int | Unavailable:
    if "identity" in opening.without:
        return SWITCHED_OFF
    if os.geteuid() != 0:
        return Unavailable("only root can give each child a user of its own")
    # With namespaces, the zygote itself makes the folders of its root. Every user may enter them.
    closed = None if has_own_root else identity.closed_to_others(opening.needed)
    if closed is not None:
        return Unavailable(
            f"other users can't enter {closed}, which holds the interpreter: "
            "start the runner with a Python that every user can read"
        )
    return FIRST_UID
