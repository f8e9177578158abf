"""Attacks as somebody would upload them. Each really tries, and says what came of it.

An attack answers "through: ..." where it got what it wanted, else the name of the errno that it met. It is given what it
aims at as arguments. The names are those of the runner's own probes; nothing else is shared with them.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import select
import signal
import socket
import stat
import struct
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
MACHINE = os.uname().machine
NUMBERS = {
    "x86_64": {"ptrace": 101, "shmget": 29, "unshare": 272, "io_uring_setup": 425, "process_vm_readv": 310,
               "rt_tgsigqueueinfo": 297, "close_range": 436},
    "aarch64": {"ptrace": 117, "shmget": 194, "unshare": 97, "io_uring_setup": 425, "process_vm_readv": 270,
                "rt_tgsigqueueinfo": 240, "close_range": 436},
}[MACHINE]  # fmt: skip


def call(name, *arguments):
    answer = libc.syscall(ctypes.c_long(NUMBERS[name]), *map(ctypes.c_void_p, arguments))
    if answer < 0:
        raise OSError(ctypes.get_errno(), name)
    return answer


def reading(path):
    with open(path, "rb") as file:
        return f"through: {file.read(65536)!r}"


def read_environment(aim):
    return reading(f"/proc/{aim['runner']}/environ")


def read_open_file(aim):
    return reading(aim["open_file"])


def read_private_file(aim):
    return reading(aim["private_file"])


def read_source(aim):
    return reading(aim["source"])


def write_outside(aim):
    with open(aim["open_directory"] + "/written", "w") as file:
        file.write("written")
    return "through: written"


def make_symlink(aim):
    os.symlink("/etc/passwd", "innocent.txt")
    return "through: " + os.readlink("innocent.txt")


def list_processes(_aim):
    return "through: " + " ".join(name for name in os.listdir("/proc") if name.isdigit())


def connect_tcp(aim):
    with socket.create_connection(("127.0.0.1", aim["tcp_port"]), 2) as end:
        end.sendall(b"attack")
    return "through: connected"


def send_udp(aim):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.connect(("127.0.0.1", aim["udp_port"]))
        end.send(b"attack")
    return "through: sent"


def connect_abstract(aim):
    with socket.socket(socket.AF_UNIX) as end:
        end.connect("\0" + aim["abstract_name"])
    return "through: connected"


def open_raw(_aim):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP):
        return "through: raw"


def open_netlink(_aim):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 0) as end:
        end.bind((0, 0))
        return "through: netlink"


def signal_victim(aim):
    os.kill(aim["victim"], signal.SIGTERM)
    return "through: killed"


def trace_victim(aim):
    call("ptrace", 16, aim["victim"], 0, 0)  # PTRACE_ATTACH
    os.waitpid(aim["victim"], 0x40000000)
    call("ptrace", 17, aim["victim"], 0, 0)
    return "through: traced"


def read_victim(aim):
    here = ctypes.create_string_buffer(64)
    local = struct.pack("PN", ctypes.addressof(here), 64)
    remote = struct.pack("PN", aim["address"], 64)
    keep = ctypes.create_string_buffer(local), ctypes.create_string_buffer(remote)
    call("process_vm_readv", aim["victim"], ctypes.addressof(keep[0]), 1, ctypes.addressof(keep[1]), 1, 0)
    return f"through: {here.value!r}"


def fork_often(_aim):
    children = []
    try:
        for _ in range(16):
            pid = os.fork()
            if not pid:
                time.sleep(0.2)
                os._exit(0)
            children.append(pid)
    finally:
        for pid in children:
            os.waitpid(pid, 0)
    return "through: forked"


def allocate(_aim):
    # Not touched: the runner would end what holds it.
    with mmap.mmap(-1, 700_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as taken:
        return f"through: {len(taken)}"


def allocate_shared(_aim):
    with mmap.mmap(-1, 700_000_000) as taken:
        return f"through: {len(taken)}"


def allocate_downwards(_aim):
    libc.mmap.restype = ctypes.c_void_p
    size = ctypes.c_size_t(700_000_000)
    address = libc.mmap(None, size, 3, 0x22 | 0x0100, -1, ctypes.c_long(0))
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    libc.munmap(ctypes.c_void_p(address), size)
    return "through: mapped"


def lowest_page_of_the_stack():
    page = ctypes.c_size_t.in_dll(libc, "__libc_stack_end").value & -4096
    while not libc.madvise(ctypes.c_void_p(page - 4096), ctypes.c_size_t(4096), 0):
        page -= 4096
    return page


def grow_stack_mapping(_aim):
    libc.mremap.restype = ctypes.c_void_p
    page, size = ctypes.c_void_p(lowest_page_of_the_stack()), ctypes.c_size_t(700_000_000)
    address = libc.mremap(page, ctypes.c_size_t(4096), size, 1)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mremap")
    libc.munmap(ctypes.c_void_p(address), size)
    return "through: grown"


def hide_by_mprotect(_aim):
    libc.mmap.restype = ctypes.c_void_p
    hidden, size = [], ctypes.c_size_t(100_000_000)
    try:
        for _ in range(7):
            address = libc.mmap(None, size, 3, 0x22, -1, ctypes.c_long(0))
            if address == ctypes.c_void_p(-1).value:
                raise OSError(ctypes.get_errno(), "mmap")
            hidden.append(ctypes.c_void_p(address))
            libc.mprotect(hidden[-1], size, 1)
    finally:
        for address in hidden:
            libc.munmap(address, size)
    return "through: hidden"


def make_shared_segment(_aim):
    segment = call("shmget", 0, 1 << 16, 0o1600)
    libc.shmctl(segment, 0, None)
    return "through: a segment"


def make_memory_file(_aim):
    os.close(os.memfd_create("x", 0))
    return "through: memfd"


def fill_one_file(_aim):
    with open("large", "wb", buffering=0) as file:
        for _ in range(20):
            sent = 0
            while sent < 1_000_000:
                sent += file.write(b"x" * (1_000_000 - sent))
    size = os.path.getsize("large")
    os.unlink("large")
    return f"through: {size}"


def make_many_files(_aim):
    for number in range(500):
        with open(f"small-{number}", "wb") as file:
            file.write(b"x" * 4096)
    return "through: 500"


def daemonise(_aim):
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in range(1, 32):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(number, signal.SIG_IGN)
        os.write(writer, b"alive")
        time.sleep(0.3)
        os._exit(0)
    os.waitpid(pid, 0)
    return "through: " + os.read(reader, 5).decode()


def use_inherited(_aim):
    found = []
    for descriptor in range(3, 1024):
        try:
            kind = os.fstat(descriptor).st_mode
        except OSError:
            continue
        found.append(stat.filemode(kind))
    # The channel of the answer is the one that it must have.
    if found == ["srwxrwxrwx"]:
        raise OSError(errno.EBADF, "nothing else is open")
    return f"through: {found}"


def make_user_namespace(_aim):
    call("unshare", 0x10000000)
    return "through: a namespace"


def execute(aim):
    os.execve("/bin/sh", ["sh", "-c", f"echo {aim['mark']}"], {"PATH": "/bin"})


def execute_written(aim):
    with open("program", "w") as file:
        file.write(f"#!/bin/sh\necho {aim['mark']}\n")
    libc.chmod(b"program", 0o700)
    if not os.access("program", os.X_OK):
        os.unlink("program")
        descriptor = os.open("program", os.O_CREAT | os.O_WRONLY, 0o700)
        os.write(descriptor, f"#!/bin/sh\necho {aim['mark']}\n".encode())
        os.close(descriptor)
    os.execve("./program", ["program"], {"PATH": "/bin"})


def become_root(_aim):
    os.setresuid(0, 0, 0)
    return f"through: {os.getuid()}"


def set_up_io_uring(_aim):
    parameters = ctypes.create_string_buffer(256)
    os.close(call("io_uring_setup", 8, ctypes.addressof(parameters)))
    return "through: a ring"


def lift_cpu_limit(_aim):
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (-1, -1))
    except ValueError:
        if resource.getrlimit(resource.RLIMIT_CPU)[1] != resource.RLIM_INFINITY:
            raise OSError(errno.EPERM, "setrlimit") from None
    return "through: unlimited"


def change_mode(aim):
    before = os.stat(aim["open_file"]).st_mode
    os.chmod(aim["open_file"], 0o606)
    changed = stat.S_IMODE(os.stat(aim["open_file"]).st_mode) == 0o606
    os.chmod(aim["open_file"], stat.S_IMODE(before))
    return "through: changed" if changed else "unchanged"


def see_file(aim):
    return f"through: {os.stat(aim['open_file']).st_size}"


def send_to_socket_file(aim):
    one, _other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.connect(aim["socket_file"])
    one.send(b"attack")
    return "through: sent"


def severed(aim):
    """A connection to the host that the spec names, which has ended it by RST."""
    end = socket.create_connection(("localhost", aim["peer_port"]), 5)
    end.settimeout(None)
    end.send(b"x")
    poll = select.poll()
    poll.register(end.fileno(), 0)
    if not poll.poll(5_000):
        raise TimeoutError("the peer is still there")
    return end


def reconnect_by_fastopen(aim):
    with severed(aim) as end:
        for _ in range(3):
            try:
                end.sendto(b"attack", 0x20000000, ("127.0.0.1", aim["tcp_port"]))
                return "through: sent"
            except OSError as error:
                last = error
        raise last


def reconnect(aim):
    with severed(aim) as end:
        there = ("127.0.0.1", aim["tcp_port"])
        try:
            socket.SocketType.connect(end, there)
        except OSError as error:
            if error.errno != errno.EISCONN:
                raise
            nobody = ctypes.create_string_buffer(16)
            if libc.connect(end.fileno(), nobody, 16) < 0:
                raise OSError(ctypes.get_errno(), "connect") from None
            socket.SocketType.connect(end, there)
        return f"through: {end.getpeername()}"


def set_socket_option(aim):
    with severed(aim) as end:
        if libc.setsockopt(end.fileno(), 6, 30, struct.pack("i", 1), 4) < 0:
            raise OSError(ctypes.get_errno(), "setsockopt")
        return "through: set"


def find_victim(aim):
    return f"through: {os.sched_getparam(aim['victim'])}"


def lock_shared_file(_aim):
    lock = struct.pack(
        "@hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, os.getpid() << 20 | time.time_ns() % (1 << 20), 1, 0
    )
    with open("/dev/null", "w") as one, open("/dev/null", "w") as another:
        fcntl.fcntl(one, 37, lock)
        try:
            fcntl.fcntl(another, 37, lock)
        except BlockingIOError:
            return "through: locked"
    return "unchanged"


def identify_peer(_aim):
    for descriptor in range(3, 64):
        try:
            channel = socket.socket(fileno=os.dup(descriptor))
        except OSError:
            continue
        with channel:
            os.close(channel.getsockopt(1, 77))
            return "through: a handle"
    return "no channel"


def enlarge_buffer(_aim):
    one, other = socket.socketpair()
    with one, other:
        before = one.getsockopt(1, 7)
        one.setsockopt(1, 7, 1 << 22)
        one.setblocking(False)
        sent = 0
        try:
            while True:
                sent += one.send(b"x" * 65_536)
        except BlockingIOError:
            return "unchanged" if sent < before * 1.5 else f"through: {sent}"


def send_descriptor(_aim):
    one, other = socket.socketpair()
    with one, other:
        socket.SocketType.sendmsg(one, [b"."], [(1, 1, struct.pack("i", 0))])
    return "through: on its way"


def queue_signals(_aim):
    signal.pthread_sigmask(signal.SIG_BLOCK, {40})
    told = ctypes.create_string_buffer(struct.pack("iii", 40, 0, -1), 128)
    for _ in range(500):
        call("rt_tgsigqueueinfo", os.getpid(), threading.get_native_id(), 40, ctypes.addressof(told))
    return "through: 500 wait"


def unshare_descriptors(_aim):
    reader, writer = os.pipe()
    said = []

    def close_in_own_table():
        try:
            call("close_range", reader, writer, 2)
            said.append(None)
        except OSError as error:
            said.append(error)

    thread = threading.Thread(target=close_in_own_table)
    thread.start()
    thread.join()
    if said[0] is not None:
        raise said[0]
    return f"through: still open in another table: {os.fstat(reader).st_ino}"


def enlarge_pipe(_aim):
    reader, writer = os.pipe()
    fcntl.fcntl(writer, 1031, 1 << 20)
    os.set_blocking(writer, False)
    return f"through: {os.write(writer, bytes(1 << 19))} bytes wait in {reader}"


def attack(name: str, aim: dict) -> str:
    try:
        return ATTACKS[name](aim)
    except MemoryError:
        return "ENOMEM"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))


def names() -> list:
    return list(ATTACKS)


ATTACKS = {
    function.__name__: function
    for function in (
        read_environment,
        read_open_file,
        read_private_file,
        read_source,
        write_outside,
        make_symlink,
        list_processes,
        connect_tcp,
        send_udp,
        connect_abstract,
        open_raw,
        open_netlink,
        signal_victim,
        trace_victim,
        read_victim,
        fork_often,
        allocate,
        allocate_shared,
        allocate_downwards,
        make_shared_segment,
        make_memory_file,
        fill_one_file,
        make_many_files,
        daemonise,
        use_inherited,
        make_user_namespace,
        execute,
        execute_written,
        become_root,
        set_up_io_uring,
        lift_cpu_limit,
        change_mode,
        see_file,
        send_to_socket_file,
        reconnect_by_fastopen,
        reconnect,
        set_socket_option,
        grow_stack_mapping,
        hide_by_mprotect,
        find_victim,
        lock_shared_file,
        identify_peer,
        enlarge_buffer,
        send_descriptor,
        queue_signals,
        unshare_descriptors,
        enlarge_pipe,
    )
}

TOOL_SPECS = [
    {"name": "attacks:attack", "description": "Tries one.", "handler": attack},
    {"name": "attacks:names", "description": "All.", "handler": names},
]
