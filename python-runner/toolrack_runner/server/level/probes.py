"""All probes, each with the layers that make its attack fail.

The attacks from `change_mode` on get past one of the layers in a way that is easily overlooked. Their probes show that
another layer makes them fail.
"""

from typing import Final

from toolrack_runner.server.level.probe import Layer, Probe
from toolrack_runner.wire.sight import UNCHANGED

#: The error with which each layer refuses a path outside of the jail: Landlock has no rule for it, or it is not in the
#: child's root.
OUT_OF_SIGHT: Final[dict[Layer, str]] = {"landlock": "EACCES", "namespaces": "ENOENT"}
#: The error with which each layer refuses an attack on a process of the runner.
OTHER_PROCESS: Final[dict[Layer, str]] = {"landlock": "EPERM", "seccomp": "EPERM", "namespaces": "ESRCH"}
#: Additional errors if the runner is root. Then the victim has another uid, and capabilities that the child does not have.
LESSER: Final[dict[Layer, str]] = {"hygiene": "EPERM", "identity": "EPERM"}

PROBES: Final[tuple[Probe, ...]] = (
    Probe("read_environment", "L2", OUT_OF_SIGHT, root={"hygiene": "EACCES", "identity": "EACCES"}),
    Probe("read_open_file", "L2", OUT_OF_SIGHT),
    Probe("read_private_file", "L2", OUT_OF_SIGHT, root={"identity": "EACCES"}),
    Probe("read_source", "L2", OUT_OF_SIGHT),
    Probe("write_outside", "L2", OUT_OF_SIGHT),
    Probe("make_symlink", "L2", {"landlock": "EACCES", "seccomp": "EPERM"}),
    Probe("list_processes", "L2", OUT_OF_SIGHT),
    Probe("connect_tcp", "L2", {"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "ENETUNREACH"}),
    Probe("send_udp", "L2", {"seccomp": "EPERM", "namespaces": "ENETUNREACH"}),
    Probe(
        "connect_abstract",
        "L2",
        {"landlock": "EPERM", "seccomp": "EPERM", "namespaces": "ECONNREFUSED"},
    ),
    Probe("open_raw", "L2", {"seccomp": "EPERM"}, root=LESSER, user={"kernel": "EPERM"}),
    Probe("open_netlink", "L2", {"seccomp": "EPERM"}),
    Probe("signal_victim", "L2", OTHER_PROCESS, root={"identity": "EPERM"}),
    Probe("trace_victim", "L2", OTHER_PROCESS, root=LESSER),
    Probe("read_victim", "L2", OTHER_PROCESS, root=LESSER),
    Probe("fork_often", "L2", {"seccomp": "EPERM"}),
    Probe("allocate", "L1", {"rlimits": "ENOMEM"}),
    Probe("make_shared_segment", "L2", {"seccomp": "EPERM"}),
    Probe("make_memory_file", "L2", {"seccomp": "EPERM"}),
    Probe("fill_one_file", "L1", {"rlimits": "EFBIG", "namespaces": "ENOSPC"}),
    Probe("make_many_files", "L3", {"namespaces": "ENOSPC"}),
    Probe("daemonise", "L2", {"seccomp": "EPERM"}),
    Probe("use_inherited", "L1", {"hygiene": "EBADF"}),
    Probe("make_user_namespace", "L2", {"seccomp": "EPERM"}),
    Probe("execute", "L2", {"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "ENOENT"}),
    Probe("execute_written", "L2", {"landlock": "EACCES", "seccomp": "EPERM", "namespaces": "EACCES"}),
    Probe(
        "become_root",
        "L2",
        {"seccomp": "EPERM"},
        root={"identity": "EPERM"},
        user={"kernel": "EPERM", "namespaces": "EINVAL"},
    ),
    Probe("set_up_io_uring", "L2", {"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    Probe("lift_cpu_limit", "L1", {"rlimits": "EPERM"}),
    Probe("change_mode", "L2", {"seccomp": UNCHANGED, "namespaces": "ENOENT"}, root={"identity": "EPERM"}),
    Probe("see_file", "L3", {"namespaces": "ENOENT"}),
    Probe("send_to_socket_file", "L2", {"seccomp": "EPERM", "namespaces": "ENOENT"}),
    Probe("allocate_shared", "L2", {"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    Probe("allocate_downwards", "L2", {"seccomp": "EPERM", "rlimits": "ENOMEM"}),
    Probe("grow_stack_mapping", "L1", {"seccomp": "ENOSYS", "rlimits": "ENOMEM"}),
    Probe("hide_by_mprotect", "L1", {"rlimits": "ENOMEM"}),
    # A connection from the broker belongs to the network of the runner, whatever the namespaces of the child are. The kernel
    # refuses to connect it again, because the broker has confirmed the connection (`server/network/broker.py`).
    Probe("reconnect_by_fastopen", "L2", {"seccomp": "EPERM", "kernel": "EISCONN"}),
    Probe("reconnect", "L2", {"landlock": "EACCES", "seccomp": "EPERM"}),
    Probe("set_socket_option", "L2", {"seccomp": "EPERM"}),
    # The kernel tells every process whether a pid exists. In the PID namespace of the child, the victim does not have a pid.
    Probe("find_victim", "L2", {"seccomp": "EPERM", "namespaces": "ESRCH"}),
    Probe("lock_shared_file", "L2", {"seccomp": UNCHANGED}),
    Probe("identify_peer", "L2", {"seccomp": "EPERM"}),
    # A larger buffer uses memory of the kernel, which counts against no memory limit.
    Probe("enlarge_buffer", "L2", {"seccomp": UNCHANGED}),
    Probe("send_descriptor", "L2", {"seccomp": "EPERM"}),
    Probe("queue_signals", "L2", {"rlimits": "EAGAIN"}),
    Probe("unshare_descriptors", "L2", {"seccomp": "EPERM"}),
    Probe("enlarge_pipe", "L2", {"seccomp": "EPERM"}),
)
