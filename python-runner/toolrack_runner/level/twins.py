"""The attacks that the level of isolation is measured by, each with the layers that hold it.

From `change_mode` on they are ways past one layer that look like none: each shows why another layer is there.
"""

from collections.abc import Callable
from typing import Final

from toolrack_runner.level.attacks import files, network, processes, resources
from toolrack_runner.level.plants import Plants
from toolrack_runner.level.twin import UNCHANGED, Escaped, Held, Layer, Level, Sight, Twin, Unexpected, judge

__all__ = ["TWINS", "Escaped", "Held", "Plants", "Sight", "Twin", "Unexpected", "judge"]


def _twin(
    attempt: Callable[[Plants], None],
    level: Level,
    *,
    both: dict[Layer, str],
    root: dict[Layer, str] | None = None,
    user: dict[Layer, str] | None = None,
    is_combinable: bool = True,
) -> Twin:
    """`both` holds for root with slot uids and for an ordinary user, `root` and `user` for one of them besides."""
    as_root, as_user = (
        {layer: frozenset(saws.split()) for layer, saws in {**both, **(more or {})}.items()}
        for more in (root, user)
    )
    return Twin(
        name=attempt.__name__,
        attack=attempt.__doc__ or "",
        attempt=attempt,
        level=level,
        as_root=as_root,
        as_user=as_user,
        is_combinable=is_combinable,
    )


#: To open what Landlock has no rule for, and what is not in the root of the namespaces.
OUT_OF_SIGHT: Final[dict[Layer, str]] = {"landlock": "EACCES", "namespaces": "ENOENT"}
#: To reach a process of the runner.
OTHER_PROCESS: Final[dict[Layer, str]] = {"landlock": "EPERM", "seccomp": "EPERM", "namespaces": "ESRCH"}
#: As root the victim has capabilities that the child has dropped, and another uid.
LESSER: Final[dict[Layer, str]] = {"hygiene": "EPERM", "identity": "EPERM"}

TWINS: Final[tuple[Twin, ...]] = (
    _twin(files.read_environment, "L2", both=OUT_OF_SIGHT, root={"hygiene": "EACCES", "identity": "EACCES"}),
    _twin(files.read_open_file, "L2", both=OUT_OF_SIGHT),
    _twin(files.read_private_file, "L2", both=OUT_OF_SIGHT, root={"identity": "EACCES"}),
    _twin(files.read_source, "L2", both=OUT_OF_SIGHT),
    _twin(files.write_outside, "L2", both=OUT_OF_SIGHT),
    _twin(files.make_symlink, "L2", both={"landlock": "EACCES", "seccomp": "EPERM"}),
    _twin(files.list_processes, "L2", both=OUT_OF_SIGHT),
    _twin(
        network.connect_tcp,
        "L2",
        both={"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "ENETUNREACH"},
    ),
    _twin(network.send_udp, "L2", both={"seccomp": "EPERM", "namespaces": "ENETUNREACH"}),
    _twin(
        network.connect_abstract,
        "L2",
        both={"landlock": "EPERM", "seccomp": "EPERM", "namespaces": "ECONNREFUSED"},
    ),
    _twin(network.open_raw, "L2", both={"seccomp": "EPERM"}, root=LESSER, user={"kernel": "EPERM"}),
    _twin(network.open_netlink, "L2", both={"seccomp": "EPERM"}),
    _twin(processes.signal_victim, "L2", both=OTHER_PROCESS, root={"identity": "EPERM"}),
    _twin(processes.trace_victim, "L2", both=OTHER_PROCESS, root=LESSER, is_combinable=False),
    _twin(processes.read_victim, "L2", both=OTHER_PROCESS, root=LESSER),
    _twin(processes.fork_often, "L2", both={"seccomp": "EPERM"}),
    _twin(resources.allocate, "L1", both={"rlimits": "ENOMEM"}),
    _twin(resources.make_shared_segment, "L2", both={"seccomp": "EPERM"}),
    _twin(resources.make_memory_file, "L2", both={"seccomp": "EPERM"}),
    _twin(files.fill_one_file, "L1", both={"rlimits": "EFBIG", "namespaces": "ENOSPC"}),
    _twin(files.make_many_files, "L3", both={"namespaces": "ENOSPC"}),
    _twin(processes.daemonise, "L2", both={"seccomp": "EPERM"}),
    _twin(processes.use_inherited, "L1", both={"hygiene": "EBADF"}),
    _twin(processes.make_user_namespace, "L2", both={"seccomp": "EPERM"}, is_combinable=False),
    _twin(
        processes.execute,
        "L2",
        both={"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "ENOENT"},
        is_combinable=False,
    ),
    _twin(
        processes.execute_written,
        "L2",
        both={"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "EACCES"},
        is_combinable=False,
    ),
    _twin(
        processes.become_root,
        "L2",
        both={"seccomp": "EPERM"},
        root={"identity": "EPERM"},
        user={"kernel": "EPERM", "namespaces": "EINVAL"},
        is_combinable=False,
    ),
    _twin(resources.set_up_io_uring, "L2", both={"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    _twin(resources.lift_cpu_limit, "L1", both={"rlimits": "EPERM"}, is_combinable=False),
    _twin(
        files.change_mode,
        "L2",
        both={"seccomp": UNCHANGED, "namespaces": "ENOENT"},
        root={"identity": "EPERM"},
    ),
    _twin(files.see_file, "L3", both={"namespaces": "ENOENT"}),
    _twin(network.send_to_socket_file, "L2", both={"seccomp": "EPERM", "namespaces": "ENOENT"}),
    _twin(resources.allocate_shared, "L2", both={"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    _twin(resources.allocate_downwards, "L2", both={"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    _twin(resources.grow_stack_mapping, "L1", both={"seccomp": "ENOSYS", "rlimits": "ENOMEM"}),
    _twin(resources.hide_by_mprotect, "L1", both={"rlimits": "ENOMEM"}),
    # A passed connection is of the network of the runner, whatever namespace its holder lives in. The kernel refuses to
    # connect it again as long as the broker confirms each connection (`network/confirm_connected.py`).
    _twin(network.reconnect_by_fastopen, "L2", both={"seccomp": "EPERM", "kernel": "EISCONN"}),
    _twin(network.reconnect, "L2", both={"landlock": "EACCES", "seccomp": "EPERM"}),
    _twin(network.set_socket_option, "L2", both={"seccomp": "EPERM"}),
    # Whether a process is there is told to everybody; only another world has no such number.
    _twin(processes.find_victim, "L2", both={"seccomp": "EPERM", "namespaces": "ESRCH"}),
    _twin(files.lock_shared_file, "L2", both={"seccomp": UNCHANGED}),
    _twin(network.identify_peer, "L2", both={"seccomp": "EPERM"}),
    # Memory of the kernel, which no limit of memory counts.
    _twin(network.enlarge_buffer, "L2", both={"seccomp": UNCHANGED}),
    _twin(network.send_descriptor, "L2", both={"seccomp": "EPERM"}),
    _twin(resources.queue_signals, "L2", both={"rlimits": "EAGAIN"}),
)
