"""All probes, each with the layers that hold it.

From `change_mode` on, each is a way past one layer that is easily overlooked. It shows why another layer is needed.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from toolrack_runner.level.attacks import files, network, processes, resources
from toolrack_runner.level.canaries import Canaries
from toolrack_runner.level.probe import UNCHANGED, Layer, Level, Probe


def _probe(
    attempt: Callable[[Canaries], None],
    level: Level,
    *,
    both: dict[Layer, str],
    root: dict[Layer, str] | None = None,
    user: dict[Layer, str] | None = None,
    is_combinable: bool = True,
) -> Probe:
    """`both` is for a runner that is root and for one that is not; `root` and `user` add to it for one of them."""
    as_root, as_user = (
        {layer: frozenset(saws.split()) for layer, saws in {**both, **(more or {})}.items()}
        for more in (root, user)
    )
    return Probe(
        name=attempt.__name__,
        attack=attempt.__doc__ or "",
        attempt=attempt,
        level=level,
        as_root=as_root,
        as_user=as_user,
        is_combinable=is_combinable,
    )


#: A probe that does not share its child with others.
_alone = partial(_probe, is_combinable=False)

#: Opening a path for which Landlock has no rule, and which is not in the root of the namespaces.
OUT_OF_SIGHT: Final[dict[Layer, str]] = {"landlock": "EACCES", "namespaces": "ENOENT"}
#: Reaching a process of the runner.
OTHER_PROCESS: Final[dict[Layer, str]] = {"landlock": "EPERM", "seccomp": "EPERM", "namespaces": "ESRCH"}
#: If the runner is root, the victim has capabilities that the child has dropped, and another uid.
LESSER: Final[dict[Layer, str]] = {"hygiene": "EPERM", "identity": "EPERM"}

PROBES: Final[tuple[Probe, ...]] = (
    _probe(files.read_environment, "L2", both=OUT_OF_SIGHT, root={"hygiene": "EACCES", "identity": "EACCES"}),
    _probe(files.read_open_file, "L2", both=OUT_OF_SIGHT),
    _probe(files.read_private_file, "L2", both=OUT_OF_SIGHT, root={"identity": "EACCES"}),
    _probe(files.read_source, "L2", both=OUT_OF_SIGHT),
    _probe(files.write_outside, "L2", both=OUT_OF_SIGHT),
    _probe(files.make_symlink, "L2", both={"landlock": "EACCES", "seccomp": "EPERM"}),
    _probe(files.list_processes, "L2", both=OUT_OF_SIGHT),
    _probe(
        network.connect_tcp,
        "L2",
        both={"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "ENETUNREACH"},
    ),
    _probe(network.send_udp, "L2", both={"seccomp": "EPERM", "namespaces": "ENETUNREACH"}),
    _probe(
        network.connect_abstract,
        "L2",
        both={"landlock": "EPERM", "seccomp": "EPERM", "namespaces": "ECONNREFUSED"},
    ),
    _probe(network.open_raw, "L2", both={"seccomp": "EPERM"}, root=LESSER, user={"kernel": "EPERM"}),
    _probe(network.open_netlink, "L2", both={"seccomp": "EPERM"}),
    _probe(processes.signal_victim, "L2", both=OTHER_PROCESS, root={"identity": "EPERM"}),
    _alone(processes.trace_victim, "L2", both=OTHER_PROCESS, root=LESSER),
    _probe(processes.read_victim, "L2", both=OTHER_PROCESS, root=LESSER),
    _probe(processes.fork_often, "L2", both={"seccomp": "EPERM"}),
    _probe(resources.allocate, "L1", both={"rlimits": "ENOMEM"}),
    _probe(resources.make_shared_segment, "L2", both={"seccomp": "EPERM"}),
    _probe(resources.make_memory_file, "L2", both={"seccomp": "EPERM"}),
    _probe(files.fill_one_file, "L1", both={"rlimits": "EFBIG", "namespaces": "ENOSPC"}),
    _probe(files.make_many_files, "L3", both={"namespaces": "ENOSPC"}),
    _probe(processes.daemonise, "L2", both={"seccomp": "EPERM"}),
    _probe(processes.use_inherited, "L1", both={"hygiene": "EBADF"}),
    _alone(processes.make_user_namespace, "L2", both={"seccomp": "EPERM"}),
    _alone(processes.execute, "L2", both={"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "ENOENT"}),
    _alone(
        processes.execute_written,
        "L2",
        both={"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "EACCES"},
    ),
    _alone(
        processes.become_root,
        "L2",
        both={"seccomp": "EPERM"},
        root={"identity": "EPERM"},
        user={"kernel": "EPERM", "namespaces": "EINVAL"},
    ),
    _probe(resources.set_up_io_uring, "L2", both={"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    _alone(resources.lift_cpu_limit, "L1", both={"rlimits": "EPERM"}),
    _probe(
        files.change_mode,
        "L2",
        both={"seccomp": UNCHANGED, "namespaces": "ENOENT"},
        root={"identity": "EPERM"},
    ),
    _probe(files.see_file, "L3", both={"namespaces": "ENOENT"}),
    _probe(network.send_to_socket_file, "L2", both={"seccomp": "EPERM", "namespaces": "ENOENT"}),
    _probe(resources.allocate_shared, "L2", both={"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    _probe(resources.allocate_downwards, "L2", both={"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    _probe(resources.grow_stack_mapping, "L1", both={"seccomp": "ENOSYS", "rlimits": "ENOMEM"}),
    _probe(resources.hide_by_mprotect, "L1", both={"rlimits": "ENOMEM"}),
    # A passed connection belongs to the network of the runner, whatever the namespace of its holder. The kernel refuses to
    # connect it again because the broker confirms each connection (`network/broker.py`).
    _probe(network.reconnect_by_fastopen, "L2", both={"seccomp": "EPERM", "kernel": "EISCONN"}),
    _probe(network.reconnect, "L2", both={"landlock": "EACCES", "seccomp": "EPERM"}),
    _probe(network.set_socket_option, "L2", both={"seccomp": "EPERM"}),
    # The kernel tells every process whether another one exists. In another PID namespace it has no such number.
    _probe(processes.find_victim, "L2", both={"seccomp": "EPERM", "namespaces": "ESRCH"}),
    _probe(files.lock_shared_file, "L2", both={"seccomp": UNCHANGED}),
    _probe(network.identify_peer, "L2", both={"seccomp": "EPERM"}),
    # Memory of the kernel that no limit of memory counts.
    _probe(network.enlarge_buffer, "L2", both={"seccomp": UNCHANGED}),
    _probe(network.send_descriptor, "L2", both={"seccomp": "EPERM"}),
    _probe(resources.queue_signals, "L2", both={"rlimits": "EAGAIN"}),
)
