"""All probes, each with the layers that hold it.

From `change_mode` on, each attack would get past one layer in a way that is easily overlooked. Its probe shows that another
layer holds it.
"""

from functools import partial
from typing import Final

from toolrack_runner.level.attacks import files, network, processes, resources
from toolrack_runner.level.probe import UNCHANGED, Layer, Probe

#: Makes a probe that does not share its child with other probes.
_alone = partial(Probe, is_combinable=False)

#: How opening a path fails for which Landlock has no rule, and which is not in the root of the namespaces.
OUT_OF_SIGHT: Final[dict[Layer, str]] = {"landlock": "EACCES", "namespaces": "ENOENT"}
#: How reaching a process of the runner fails.
OTHER_PROCESS: Final[dict[Layer, str]] = {"landlock": "EPERM", "seccomp": "EPERM", "namespaces": "ESRCH"}
#: How an attack fails if the runner is root. The victim has another uid, and capabilities that the child has dropped.
LESSER: Final[dict[Layer, str]] = {"hygiene": "EPERM", "identity": "EPERM"}

PROBES: Final[tuple[Probe, ...]] = (
    Probe(files.read_environment, "L2", OUT_OF_SIGHT, root={"hygiene": "EACCES", "identity": "EACCES"}),
    Probe(files.read_open_file, "L2", OUT_OF_SIGHT),
    Probe(files.read_private_file, "L2", OUT_OF_SIGHT, root={"identity": "EACCES"}),
    Probe(files.read_source, "L2", OUT_OF_SIGHT),
    Probe(files.write_outside, "L2", OUT_OF_SIGHT),
    Probe(files.make_symlink, "L2", {"landlock": "EACCES", "seccomp": "EPERM"}),
    Probe(files.list_processes, "L2", OUT_OF_SIGHT),
    Probe(network.connect_tcp, "L2", {"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "ENETUNREACH"}),
    Probe(network.send_udp, "L2", {"seccomp": "EPERM", "namespaces": "ENETUNREACH"}),
    Probe(
        network.connect_abstract,
        "L2",
        {"landlock": "EPERM", "seccomp": "EPERM", "namespaces": "ECONNREFUSED"},
    ),
    Probe(network.open_raw, "L2", {"seccomp": "EPERM"}, root=LESSER, user={"kernel": "EPERM"}),
    Probe(network.open_netlink, "L2", {"seccomp": "EPERM"}),
    Probe(processes.signal_victim, "L2", OTHER_PROCESS, root={"identity": "EPERM"}),
    _alone(processes.trace_victim, "L2", OTHER_PROCESS, root=LESSER),
    Probe(processes.read_victim, "L2", OTHER_PROCESS, root=LESSER),
    Probe(processes.fork_often, "L2", {"seccomp": "EPERM"}),
    Probe(resources.allocate, "L1", {"rlimits": "ENOMEM"}),
    Probe(resources.make_shared_segment, "L2", {"seccomp": "EPERM"}),
    Probe(resources.make_memory_file, "L2", {"seccomp": "EPERM"}),
    Probe(files.fill_one_file, "L1", {"rlimits": "EFBIG", "namespaces": "ENOSPC"}),
    Probe(files.make_many_files, "L3", {"namespaces": "ENOSPC"}),
    Probe(processes.daemonise, "L2", {"seccomp": "EPERM"}),
    Probe(processes.use_inherited, "L1", {"hygiene": "EBADF"}),
    _alone(processes.make_user_namespace, "L2", {"seccomp": "EPERM"}),
    _alone(processes.execute, "L2", {"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "ENOENT"}),
    _alone(
        processes.execute_written, "L2", {"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "EACCES"}
    ),
    _alone(
        processes.become_root,
        "L2",
        {"seccomp": "EPERM"},
        root={"identity": "EPERM"},
        user={"kernel": "EPERM", "namespaces": "EINVAL"},
    ),
    Probe(resources.set_up_io_uring, "L2", {"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    _alone(resources.lift_cpu_limit, "L1", {"rlimits": "EPERM"}),
    Probe(
        files.change_mode, "L2", {"seccomp": UNCHANGED, "namespaces": "ENOENT"}, root={"identity": "EPERM"}
    ),
    Probe(files.see_file, "L3", {"namespaces": "ENOENT"}),
    Probe(network.send_to_socket_file, "L2", {"seccomp": "EPERM", "namespaces": "ENOENT"}),
    Probe(resources.allocate_shared, "L2", {"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    Probe(resources.allocate_downwards, "L2", {"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    Probe(resources.grow_stack_mapping, "L1", {"seccomp": "ENOSYS", "rlimits": "ENOMEM"}),
    Probe(resources.hide_by_mprotect, "L1", {"rlimits": "ENOMEM"}),
    # A passed connection belongs to the network of the runner, whatever the namespace of its holder. The kernel refuses to
    # connect it again because the broker confirms each connection (`network/broker.py`).
    Probe(network.reconnect_by_fastopen, "L2", {"seccomp": "EPERM", "kernel": "EISCONN"}),
    Probe(network.reconnect, "L2", {"landlock": "EACCES", "seccomp": "EPERM"}),
    Probe(network.set_socket_option, "L2", {"seccomp": "EPERM"}),
    # The kernel reports to every process whether a pid exists. The victim has no pid in another PID namespace.
    Probe(processes.find_victim, "L2", {"seccomp": "EPERM", "namespaces": "ESRCH"}),
    Probe(files.lock_shared_file, "L2", {"seccomp": UNCHANGED}),
    Probe(network.identify_peer, "L2", {"seccomp": "EPERM"}),
    # A larger buffer uses memory of the kernel, which counts against no memory limit.
    Probe(network.enlarge_buffer, "L2", {"seccomp": UNCHANGED}),
    Probe(network.send_descriptor, "L2", {"seccomp": "EPERM"}),
    Probe(resources.queue_signals, "L2", {"rlimits": "EAGAIN"}),
    Probe(resources.unshare_descriptors, "L2", {"seccomp": "EPERM"}),
    Probe(resources.enlarge_pipe, "L2", {"seccomp": "EPERM"}),
)
