"""Namespaces: a zygote's own processes, network and file tree, and for each child a file tree and IPC of its own.

What costs much is done once by the zygote: a network without interfaces, and a root that holds nothing but what children may
read. Each child adds its own mount and IPC namespace with a small tmpfs on /tmp, which is its quota and which the
kernel clears away with the child. An ordinary user gets all of it through a user namespace.

Numbers: `linux/sched.h`, `linux/mount.h`.
"""

import ctypes
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolrack_runner.jail.hygiene import die_with
from toolrack_runner.jail.linux import syscall
from toolrack_runner.jail.missing import Missing

CLONE_NEWNS: Final = 0x0002_0000
CLONE_NEWUTS: Final = 0x0400_0000
CLONE_NEWIPC: Final = 0x0800_0000
CLONE_NEWUSER: Final = 0x1000_0000
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

#: Where the new root is built: a directory that every Linux has and nothing that children may read lies in. It is covered in
#: the zygote's own mount namespace only, so nothing of it can be left behind.
ROOT_IN_THE_MAKING: Final = "/proc"
#: Where a child's own file system is, the first that hides nothing.
WORKPLACES: Final = ("/tmp", "/workplace", "/toolrack-workplace")  # noqa: S108 - the child's own
#: A child's quota: design section 11 allows 10 MB of output, and a file system needs some of it for itself.
QUOTA_BYTES: Final = 16 << 20
QUOTA_INODES: Final = 256
#: What `mount` is told of it, but for the user and the group.
OPTIONS: Final = b"size=%d,nr_inodes=%d,mode=0700,uid=%%d,gid=%%d" % (QUOTA_BYTES, QUOTA_INODES)
OPTIONS_BYTES_MAX: Final = 128
#: Devices that hold nothing. Not /dev/zero: mapped shared, it is anonymous memory that no limit counts.
DEVICES: Final = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")


@dataclass(frozen=True)
class Namespaces:
    """The namespaces that this process lives in, as the first of its processes."""

    #: What /proc said of this process before /proc was left behind, open.
    status: int
    #: Where each child has a file system of its own.
    workplace: str
    _mount: "WorkplaceMount"

    def enter_own(self, uid: int, gid: int) -> None:
        """In the child, while it still has capabilities: a file tree of its own with an empty, small workplace."""
        syscall("unshare", CLONE_NEWNS | CLONE_NEWIPC)
        self._mount.make(uid, gid)
        os.chdir(self.workplace)


class WorkplaceMount:
    """The mount of a child's file system, with everything in place but the child's user: each word written out in the
    child would cost it a copied page.
    """

    def __init__(self, workplace: str) -> None:
        self._texts = [ctypes.create_string_buffer(text) for text in (b"tmpfs", os.fsencode(workplace))]
        self._options = ctypes.create_string_buffer(OPTIONS_BYTES_MAX)
        source, target = map(ctypes.addressof, self._texts)
        flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
        self._arguments = (source, target, source, flags, ctypes.addressof(self._options))

    def make(self, uid: int, gid: int) -> None:
        """Mounts it, empty; raises OSError."""
        self._options.value = OPTIONS % (uid, gid)
        syscall("mount", *self._arguments)


def enter_namespaces(read_only: Sequence[str]) -> Namespaces | Missing:
    """Makes the calling process the first of new namespaces with a root of its own.

    Forks: the caller goes on in the new process, and the old one waits for it and ends as it did. Where the kernel says no,
    nothing has changed.
    """
    uid, gid = os.geteuid(), os.getegid()
    flags = OF_A_ZYGOTE if uid == 0 else OF_A_ZYGOTE | CLONE_NEWUSER
    refusal = _try_in_a_child(flags)
    if refusal is not None:
        return Missing(refusal)
    syscall("unshare", flags)
    if uid != 0:
        _map_only(uid, gid)
    inner = os.fork()
    if inner:
        _wait_and_end_as(inner)
    die_with(0)
    status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
    workplace = workplace_beside(read_only)
    _build_root(read_only, workplace)
    return Namespaces(status, workplace, WorkplaceMount(workplace))


def workplace_beside(read_only: Sequence[str]) -> str:
    """`/tmp`, which programs expect to be able to write to; another where what is to be read lies below it."""
    return next(
        place for place in WORKPLACES if not any(f"{path}/".startswith(f"{place}/") for path in read_only)
    )


def _try_in_a_child(flags: int) -> str | None:
    """Whether this process could: tried in one that may break, for an unshare can't be taken back."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            uid, gid = os.geteuid(), os.getegid()
            syscall("unshare", flags)
            if flags & CLONE_NEWUSER:
                _map_only(uid, gid)
            _mount("none", "/", "", MS_REC | MS_PRIVATE)
            base = ROOT_IN_THE_MAKING
            _mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k")
            attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY_NOSUID, 0, 0, 0)
            _set_attributes(base, attributes)
        except OSError as error:
            os.write(writer, f"the kernel refuses {error.filename}: {error.strerror}".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        reason = answer.read().decode()
    _, status = os.waitpid(pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        return "a trial process died of it"
    return reason or None


def _map_only(uid: int, gid: int) -> None:
    """The user namespace knows this user and nobody else."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def _wait_and_end_as(pid: int) -> None:
    """The process outside: it has nothing to do but to tell main how the one inside ended."""
    os.closerange(3, 1 << 16)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 1)


def _build_root(read_only: Sequence[str], workplace: str) -> None:
    base = ROOT_IN_THE_MAKING
    _mount("none", "/", "", MS_REC | MS_PRIVATE)
    _mount("tmpfs", base, "tmpfs", MS_NOSUID, "size=1m,nr_inodes=4k,mode=0755")
    os.mkdir(base + "/dev", 0o755)
    os.mkdir(base + workplace, 0o755)
    for path in read_only:
        _show(base, path)
    for device in DEVICES:
        if os.path.exists(device):
            os.close(os.open(base + device, os.O_CREAT | os.O_WRONLY, 0o666))
            _mount(device, base + device, "", MS_BIND)
    os.chdir(base)
    syscall("pivot_root", *_strings(".", "."))
    syscall("umount2", *_strings("."), MNT_DETACH)
    os.chdir("/")
    _mount("none", "/", "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID)


def _show(base: str, path: str) -> None:
    """Makes one path of the old root readable in the new one, at the same place; a symbolic link stays one."""
    if not os.path.lexists(path) or os.path.lexists(base + path):
        return
    os.makedirs(os.path.dirname(base + path), 0o755, exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), base + path)
        return
    if os.path.isdir(path):
        os.mkdir(base + path, 0o755)
    else:
        os.close(os.open(base + path, os.O_CREAT | os.O_WRONLY, 0o644))
    _mount(path, base + path, "", MS_BIND | MS_REC)
    _set_attributes(base + path, (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY_NOSUID, 0, 0, 0))


def _set_attributes(path: str, attributes: "ctypes.Array[ctypes.c_uint64]") -> None:
    syscall(
        "mount_setattr",
        AT_FDCWD,
        *_strings(path),
        AT_RECURSIVE,
        ctypes.addressof(attributes),
        ctypes.sizeof(attributes),
    )


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    try:
        syscall("mount", *_strings(source, target, kind), flags, *_strings(options))
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"mount of {target}") from None


_held: list[ctypes.Array[ctypes.c_char]] = []


def _strings(*texts: str) -> list[int]:
    """The addresses of C strings, which live until the next call."""
    buffers = [ctypes.create_string_buffer(os.fsencode(text)) for text in texts]
    del _held[:-8]
    _held.extend(buffers)
    return [ctypes.addressof(buffer) for buffer in buffers]
