"""The list of attacks that children try as probes. `server/level/probes.py` says which layers prevent each of them."""

import errno
from collections.abc import Callable
from typing import Final

from toolrack_runner.child.level.attacks import files, network, processes, resources
from toolrack_runner.child.level.nothing_done import NothingDoneError
from toolrack_runner.wire.canaries import Canaries
from toolrack_runner.wire.sight import ESCAPED, UNCHANGED

Attempt = Callable[[Canaries], None]
"""Tries the attack that its docstring describes. If the attack succeeds, undoes it and returns. If not, raises OSError."""

#: Attacks that do not change their own process, even if they succeed. So one child can try several of them, in any order.
COMBINABLE: Final[tuple[Attempt, ...]] = (
    files.read_environment,
    files.read_open_file,
    files.read_private_file,
    files.read_source,
    files.write_outside,
    files.make_symlink,
    files.list_processes,
    network.connect_tcp,
    network.send_udp,
    network.connect_abstract,
    network.open_raw,
    network.open_netlink,
    processes.signal_victim,
    processes.read_victim,
    processes.fork_often,
    resources.allocate,
    resources.make_shared_segment,
    resources.make_memory_file,
    files.fill_one_file,
    files.make_many_files,
    processes.daemonise,
    processes.use_inherited,
    resources.set_up_io_uring,
    files.change_mode,
    files.see_file,
    network.send_to_socket_file,
    resources.allocate_shared,
    resources.allocate_downwards,
    resources.grow_stack_mapping,
    resources.hide_by_mprotect,
    network.reconnect_by_fastopen,
    network.reconnect,
    network.set_socket_option,
    processes.find_victim,
    files.lock_shared_file,
    network.identify_peer,
    network.enlarge_buffer,
    network.send_descriptor,
    resources.queue_signals,
    resources.unshare_descriptors,
    resources.enlarge_pipe,
)
#: Attacks that change their own process if they succeed. So each is tried in a child of its own.
ALONE: Final[tuple[Attempt, ...]] = (
    processes.trace_victim,
    processes.make_user_namespace,
    processes.execute,
    processes.execute_written,
    processes.become_root,
    resources.lift_cpu_limit,
)
ATTEMPTS: Final = {attempt.__name__: attempt for attempt in (*COMBINABLE, *ALONE)}


def try_it(attempt: Attempt, canaries: Canaries) -> str:
    """Tries an attack. Runs in the confined child. Returns ESCAPED, UNCHANGED, an errno by its name, or an exception's text.

    If the child ends without an answer, the attack counts as successful.
    """
    try:
        attempt(canaries)
    except NothingDoneError:
        return UNCHANGED
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, repr(error))
    except BaseException as error:  # noqa: BLE001 - the server process treats it as unexpected
        return repr(error)
    return ESCAPED
