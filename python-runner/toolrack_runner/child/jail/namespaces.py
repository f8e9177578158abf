"""Namespaces: a zygote gets its own processes, network and file tree, and each child its own file tree and IPC.

The zygote does the expensive part once. It makes a network without interfaces, and a root directory with only the files that
children may read. Each child then makes a mount namespace and an IPC namespace, with a small tmpfs as its workplace. The
size of this tmpfs is the disk quota of the child. The kernel removes the tmpfs when the child ends.

In the root of the zygote, the folder of all environments is mounted at the path of the workplace. A child first binds its
own environment to PACKAGES_PATH. Then it mounts its tmpfs over the folder of all environments, so it cannot even list the
others. The process is not allowed to unmount anything later.

A user other than root can do all this in a user namespace (`user_namespace.py`).

The numbers are from `linux/sched.h` and `linux/mount.h`.
"""

import ctypes
import os
import signal
from collections.abc import Sequence
from typing import Final, NoReturn

from toolrack_runner.child.jail.hygiene import die_with
from toolrack_runner.child.jail.linux import Unavailable, syscall
from toolrack_runner.child.jail.user_namespace import CLONE_NEWUSER, map_own_user
from toolrack_runner.child_bounds import QUOTA_BYTES, QUOTA_INODES
from toolrack_runner.packages_path import PACKAGES_PATH
from toolrack_runner.workplace_path import workplace_beside

CLONE_NEWNS: Final = 0x0002_0000
CLONE_NEWUTS: Final = 0x0400_0000
CLONE_NEWIPC: Final = 0x0800_0000
CLONE_NEWPID: Final = 0x2000_0000
CLONE_NEWNET: Final = 0x4000_0000
OF_A_ZYGOTE: Final = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET

MS_RDONLY: Final = 1
MS_NOSUID: Final = 2
MS_NODEV: Final = 4
MS_NOEXEC: Final = 8
MS_REMOUNT: Final = 32
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
MNT_DETACH: Final = 2
AT_FDCWD: Final = -100 & 0xFFFF_FFFF_FFFF_FFFF
AT_RECURSIVE: Final = 0x8000
MOUNT_ATTR_RDONLY_NOSUID: Final = 0x1 | 0x2
MOUNT_ATTR_NODEV: Final = 0x4

#: The directory on which the new root is mounted. Every Linux has it, and children may read nothing that is in it. The mount
#: exists only in the zygote's own mount namespace, so nothing can be left in the real /proc.
NEW_ROOT: Final = "/proc"
#: The mount options of the child's file system. The user and the group are filled in for each child.
OPTIONS: Final = b"size=%d,nr_inodes=%d,mode=0700,uid=%%d,gid=%%d" % (QUOTA_BYTES, QUOTA_INODES)
#: The size of the buffer for the options of a mount. The buffer is made before the fork, so that a child writes to few
#: memory pages.
OPTIONS_BYTES_MAX: Final = 128
#: The devices of a child. They store nothing. /dev/zero is not one of them, because a shared mapping of it is anonymous
#: memory, which no limit counts.
DEVICES: Final = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")


class Namespaces:
    """The namespaces of this process. It is the first process in them.

    `status` is a descriptor of /proc/self/status. It was opened while this process had the old root, because the new root
    has no /proc. `workplace` is the path at which each child has a file system of its own.
    """

    def __init__(self, status: int, workplace: str) -> None:
        self.status = status
        self.workplace = workplace
        # The arguments of the mount are prepared here, except for the child's user. A child should write to few memory
        # pages, because it gets its own copy of each page that it writes to.
        self._texts = [ctypes.create_string_buffer(text) for text in (b"tmpfs", os.fsencode(workplace))]
        self._options = ctypes.create_string_buffer(OPTIONS_BYTES_MAX)
        source, target = map(ctypes.addressof, self._texts)
        flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
        self._mount = (source, target, source, flags, ctypes.addressof(self._options))
        self._packages = ctypes.create_string_buffer(os.fsencode(PACKAGES_PATH))

    def enter_own(self, uid: int, gid: int, environment: str = "") -> None:
        """Gives the child its own file tree, with a small, empty workplace. Needs capabilities. Raises OSError.

        `environment` is the name of the folder of its environment, or empty.
        """
        syscall("unshare", CLONE_NEWNS | CLONE_NEWIPC)
        if environment:
            # The new mount gets the attributes of the mounted folder: it is read-only too.
            source = ctypes.create_string_buffer(os.fsencode(f"{self.workplace}/{environment}"))
            target = ctypes.addressof(self._packages)
            syscall("mount", ctypes.addressof(source), target, 0, MS_BIND, 0)
        self.mount_workplace(uid, gid)

    def mount_workplace(self, uid: int, gid: int) -> None:
        """Mounts a small, empty file system at the workplace, and makes it the current directory. Raises OSError."""
        self._options.value = OPTIONS % (uid, gid)
        syscall("mount", *self._mount)
        os.chdir(self.workplace)

    def unmount_workplace(self) -> None:
        """Removes this file system with its files. Raises OSError (EBUSY) as long as one of them is in use."""
        os.chdir("/")
        _call("umount2", self.workplace, 0)


def enter_namespaces(read_only: Sequence[str], packages: str = "") -> Namespaces | Unavailable:
    """Forks. Makes the new process the first one in new namespaces, and gives it its own root directory.

    `packages` is the folder of all environments, or empty.

    Returns only in the new process. The old process waits for the new one, and ends with the same exit code or signal. If
    the kernel refuses the namespaces, the function returns Unavailable in the calling process, and nothing has changed.
    """
    reason = _try_in_a_child()
    if reason is not None:
        return Unavailable(reason)
    _unshare()
    inner = os.fork()
    if inner:
        _wait_and_end_as(inner)
    die_with(0)
    status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
    workplace = workplace_beside(read_only)
    _build_root(read_only, workplace, packages)
    return Namespaces(status, workplace)


def _unshare() -> None:
    """Moves this process into new namespaces. An ordinary user who is not in a user namespace yet needs one of these too."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        syscall("unshare", OF_A_ZYGOTE)
    except PermissionError:
        if uid == 0:
            raise
        syscall("unshare", OF_A_ZYGOTE | CLONE_NEWUSER)
        map_own_user(uid, gid)


def _try_in_a_child() -> str | None:
    """The reason why this process cannot have namespaces, or None. A child tries it, because unshare cannot be undone."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _unshare()
            _mount("none", "/", "", MS_REC | MS_PRIVATE)
            _mount("tmpfs", NEW_ROOT, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k")
            _make_read_only(NEW_ROOT)
        except OSError as error:
            os.write(writer, f"the kernel refuses {error.filename}: {error.strerror}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        reason = answer.read().decode()
    _, status = os.waitpid(pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        return "a trial process failed"
    return reason or None


def _wait_and_end_as(pid: int) -> NoReturn:
    """Waits for the new process, and then ends in the same way. Runs in the old process, outside of the namespaces.

    So the server process learns how the new process has ended.
    """
    os.closerange(3, 1 << 16)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 1)


def _build_root(read_only: Sequence[str], workplace: str, packages: str) -> None:
    _mount("none", "/", "", MS_REC | MS_PRIVATE)
    _mount("tmpfs", NEW_ROOT, "tmpfs", MS_NOSUID, "size=1m,nr_inodes=4k,mode=0755")
    os.mkdir(NEW_ROOT + "/dev", 0o755)
    os.mkdir(NEW_ROOT + workplace, 0o755)
    if packages:
        os.mkdir(NEW_ROOT + PACKAGES_PATH, 0o755)
        # Extension modules are mapped executable, so this mount is not `noexec`. Seccomp denies starting a program.
        _mount(packages, NEW_ROOT + workplace, "", MS_BIND | MS_REC)
        _make_read_only(NEW_ROOT + workplace, MOUNT_ATTR_NODEV)
    for path in read_only:
        _show(path)
    for device in DEVICES:
        if os.path.exists(device):
            os.close(os.open(NEW_ROOT + device, os.O_CREAT | os.O_WRONLY, 0o666))
            _mount(device, NEW_ROOT + device, "", MS_BIND)
    os.chdir(NEW_ROOT)
    _call("pivot_root", ".", ".")
    _call("umount2", ".", MNT_DETACH)
    os.chdir("/")
    _mount("none", "/", "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID)


def _show(path: str) -> None:
    """Makes a path of the old root readable at the same path of the new root. A symbolic link is made again as a link."""
    shown = NEW_ROOT + path
    if not os.path.lexists(path) or os.path.lexists(shown):
        return
    os.makedirs(os.path.dirname(shown), 0o755, exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), shown)
        return
    if os.path.isdir(path):
        os.mkdir(shown, 0o755)
    else:
        os.close(os.open(shown, os.O_CREAT | os.O_WRONLY, 0o644))
    _mount(path, shown, "", MS_BIND | MS_REC)
    _make_read_only(shown)


def _make_read_only(path: str, more: int = 0) -> None:
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY_NOSUID | more, 0, 0, 0)
    address, size = ctypes.addressof(attributes), ctypes.sizeof(attributes)
    _call("mount_setattr", AT_FDCWD, path, AT_RECURSIVE, address, size)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    try:
        _call("mount", source, target, kind, flags, options)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"mount of {target}") from None


def _call(name: str, *arguments: int | str) -> None:
    """Like `syscall`, but an argument can be a string. Then the kernel gets the address of a C string."""
    buffers = [
        ctypes.create_string_buffer(os.fsencode(each)) if isinstance(each, str) else each
        for each in arguments
    ]
    syscall(name, *(each if isinstance(each, int) else ctypes.addressof(each) for each in buffers))
