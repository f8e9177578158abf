"""Ways to make the kernel hold memory for one process. Each takes as much as it can, keeps it, and says what it got.

Each returns what the attempts were answered (the name of an errno, or "through"), and how much it got: bytes or a number.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import signal
import socket
import stat
import struct
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.argtypes = (ctypes.c_ulong,) * 7
libc.syscall.restype = ctypes.c_long
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
libc.mmap.restype = ctypes.c_void_p
libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
NAMES = """
    clone unshare exit futex epoll_ctl fcntl pipe2 memfd_create mlock mlock2 mlockall splice tee vmsplice sendmmsg
    add_key keyctl msgget semget shmget mq_open inotify_init1 signalfd4 timer_create userfaultfd
""".split()
NUMBERS = {
    "x86_64": (56, 272, 60, 202, 233, 72, 293, 319, 149, 325, 151, 275, 276, 278, 307,
               248, 250, 68, 64, 29, 240, 294, 289, 222, 323),
    "aarch64": (220, 97, 93, 98, 21, 25, 59, 279, 228, 284, 230, 76, 77, 75, 269,
                217, 219, 186, 190, 194, 180, 26, 74, 107, 282),
}[os.uname().machine]  # fmt: skip
NUMBER_OF = dict(zip(NAMES, NUMBERS, strict=True)) | {
    "close_range": 436, "clone3": 435, "memfd_secret": 447, "pidfd_open": 434, "io_uring_setup": 425, "openat2": 437,
}  # fmt: skip
MB = 1 << 20
PAGE = mmap.PAGESIZE
#: More than a call may use.
MANY = 100_000
kept = []


def call(name, *arguments):
    answer = libc.syscall(NUMBER_OF[name], *arguments, *(0,) * (6 - len(arguments)))
    return "through" if answer >= 0 else errno.errorcode[ctypes.get_errno()]


def until_refused(make, most=MANY):
    for made in range(most):
        try:
            kept.append(make())
        except OSError:
            return made
    return most


def fill(end):
    total = 0
    end.setblocking(False)
    for size in (36_000, 4_096, 256, 1):
        try:
            while True:
                total += end.send(b"x" * size)
        except OSError:
            pass
    return total


def full_sockets():
    """As many pairs of sockets as this table has room for, with as much in them as they take."""
    total = 0
    try:
        while True:
            ends = socket.socketpair()
            kept.append(ends)
            total += sum(map(fill, ends))
    except OSError:
        return total


def in_threads(count, act):
    """What `act` gave in threads that all live on."""
    threading.stack_size(65_536)
    given, done = [], threading.Semaphore(0)

    def live():
        given.append(act())
        done.release()
        time.sleep(3_600)

    started = 0
    try:
        for _ in range(count):
            threading.Thread(target=live, daemon=True).start()
            started += 1
    except RuntimeError:
        pass
    for _ in range(started):
        done.acquire()
    return given


def tables(count=60):
    """A table of descriptors for each thread."""

    def take():
        return call("close_range", 4_000, 4_000, 2), full_sockets()

    given = in_threads(count, take)
    return {said for said, _ in given}, sum(size for _, size in given)


def tables_by_other_ways():
    """CLONE_FILES by `unshare`, and threads that are started without it."""

    def take():
        flags = 0x50B00  # CLONE_VM, FS, SIGHAND, THREAD and SYSVSEM.
        asked = ctypes.create_string_buffer(struct.pack("11Q", flags, *(0,) * 10))
        own = (
            call("unshare", 0x400),
            call("clone", flags),
            call("clone3", ctypes.addressof(asked), 88),
            call("close_range", 4_000, 4_000, 6),
        )
        return own, full_sockets()

    given = in_threads(20, take)
    return {said for own, _ in given for said in own}, sum(size for _, size in given)


def in_flight():
    """Sockets in the queue of a socket, whose own descriptors are closed."""
    line, _other = ends = socket.socketpair()
    kept.append(ends)
    line.setblocking(False)
    said = []
    for _ in range(200):
        one, another = socket.socketpair()
        with one, another:
            fill(one)
            rights = struct.pack("@Niii4x", 20, socket.SOL_SOCKET, socket.SCM_RIGHTS, one.fileno())
            control, data = ctypes.create_string_buffer(rights), ctypes.create_string_buffer(b".")
            vector = ctypes.create_string_buffer(struct.pack("@PN", ctypes.addressof(data), 1))
            message = struct.pack(
                "@PIPNPNi", 0, 0, ctypes.addressof(vector), 1, ctypes.addressof(control), len(rights), 0
            )
            headers = ctypes.create_string_buffer(message + bytes(64))
            said.append(call("sendmmsg", line.fileno(), ctypes.addressof(headers), 1, 0x40))
            try:
                socket.SocketType.sendmsg(line, [b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights[16:20])])
                said.append("through")
            except OSError as error:
                said.append(errno.errorcode[error.errno])
    return said, said.count("through")


def large_pipes():
    """Pipes of a megabyte, pipes with a page for each byte, and pipes for messages of the kernel."""
    said, size = set(), 0
    pair = (ctypes.c_int * 2)()
    for flags in (0x4000, 0x10000, 0x80):
        said.add(call("pipe2", ctypes.addressof(pair), flags))
    try:
        while True:
            reader, writer = os.pipe()
            kept.append(reader)
            os.set_blocking(writer, False)
            for way in (lambda: fcntl.fcntl(writer, 1031, MB), lambda: fcntl.fcntl(writer, fcntl.F_SETFL, 0x4801)):
                try:
                    way()
                    said.add("through")
                except OSError as error:
                    said.add(errno.errorcode[error.errno])
            try:
                while True:
                    size += os.write(writer, b"x" * 65_536)
            except OSError:
                os.close(writer)
    except OSError:
        return said, size


def large_sockets():
    """Sockets with large buffers, and sockets that are full of small messages."""
    size = 0
    try:
        while True:
            ends = socket.socketpair()
            kept.append(ends)
            for end in ends:
                for option in (socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33):
                    try:
                        end.setsockopt(socket.SOL_SOCKET, option, 1 << 30)
                    except OSError:
                        pass
                end.setblocking(False)
                try:
                    while True:
                        size += end.send(b"x" * 100)
                except OSError:
                    pass
    except OSError:
        return (), size


def handles():
    """Handles of each kind, in a table for each thread if that can be had."""

    def take():
        call("close_range", 4_000, 4_000, 2)
        timers = [lambda: os.open("/dev/null", os.O_RDONLY), lambda: os.eventfd(0) if hasattr(os, "eventfd") else os.dup(0)]
        return sum(until_refused(make, 31) for make in timers)

    return (), sum(in_threads(60, take))


def watch_everywhere(epolls, files, spare):
    """Adds each file to each `epoll` with every number that the file can have, and returns how often."""
    event = ctypes.create_string_buffer(16)
    made = 0
    for file in files:
        for number in range(3, 64):
            if number not in (file, spare):
                try:
                    # What has this number gets another one meanwhile.
                    os.dup2(number, spare)
                    os.dup2(file, number)
                except OSError:
                    continue
            for epoll in epolls:
                place = spare if epoll == number else epoll
                made += call("epoll_ctl", place, 1, number, ctypes.addressof(event)) == "through"
            if number not in (file, spare):
                os.dup2(spare, number)
    return made


def half_of_the_table(count):
    """This many epolls, and full sockets for all other descriptors: the numbers of the epolls, of the sockets, and a spare one."""
    epolls = [libc.epoll_create1(0) for _ in range(count)]
    sockets = []
    until_refused(lambda: sockets.append(socket.socketpair()) or sockets[-1])
    ends = [end for pair in sockets for end in pair]
    for end in ends:
        fill(end)
    *files, spare = (end.fileno() for end in ends)
    return epolls, files, spare


def watches():
    """Each file of one half of the table, with each number that it can have, in each `epoll` of the other half."""
    return (), watch_everywhere(*half_of_the_table(30))


def watches_of_waiting_threads():
    """The same with epolls that have no descriptor, because a thread that waits for them keeps them."""
    epolls = [libc.epoll_create1(0) for _ in range(4)]
    files = []
    until_refused(lambda: files.append(os.eventfd(0)))
    spare = files.pop()
    threading.stack_size(65_536)
    made = 0
    for _ in range(4):
        made += watch_everywhere(epolls, files, spare)
        for epoll in epolls:
            place = ctypes.create_string_buffer(16)
            threading.Thread(target=libc.epoll_wait, args=(epoll, place, 1, -1), daemon=True).start()
            time.sleep(0.01)
            # The next one gets the same number, the lowest that is free.
            os.close(epoll)
            libc.epoll_create1(0)
    return (), made


def nested_epolls():
    """Epolls that watch each other."""
    import select

    epolls = []
    until_refused(lambda: epolls.append(select.epoll()) or epolls[-1])
    made = 0
    for at, one in enumerate(epolls):
        for other in epolls[at + 1 :]:
            try:
                one.register(other.fileno(), select.EPOLLIN)
                made += 1
            except OSError:
                pass
    return (), made


def files_of_waiting_threads():
    """Full sockets whose descriptors are closed, kept by threads that wait for them."""

    def wait_for(one):
        number = one.detach()
        end = ctypes.create_string_buffer(struct.pack("ihh", number, 0, 0))
        threading.Timer(0.1, os.close, (number,)).start()
        libc.poll(end, 1, 3_600_000)

    threading.stack_size(65_536)
    size = started = 0
    try:
        while started < 28:
            one, other = socket.socketpair()
            size += fill(other)
            threading.Thread(target=wait_for, args=(one,), daemon=True).start()
            started += 1
            kept.append(other)
    except (RuntimeError, OSError):
        pass
    return (), size


def files_of_mappings():
    """Files that only a mapping keeps open, each with its own record in the kernel."""
    with open("mapped", "wb") as file:
        file.write(bytes(2 * PAGE))
    for made in range(MANY):
        try:
            file = os.open("mapped", os.O_RDONLY)
        except OSError:
            return (), made
        address = libc.mmap(None, PAGE, 1, 1 + made % 2, file, 0)
        os.close(file)
        if address in (None, ctypes.c_void_p(-1).value):
            return (), made
    return (), MANY


def split_mappings():
    """Every second page of all memory that is left read-only, so that each page is a mapping of its own."""
    size = 240 * MB
    while (address := libc.mmap(None, size, 3, 0x4022, -1, 0)) in (None, ctypes.c_void_p(-1).value):
        size -= MB
    return (), sum(not libc.mprotect(address + at, PAGE, 1) for at in range(0, size, 2 * PAGE))


def locked_memory():
    """Memory that is filled or locked as a whole, huge pages, and memory in files of no directory."""
    address = libc.mmap(None, 4 * MB, 3, 0x22, -1, 0)
    name = ctypes.create_string_buffer(b"x")
    said = {
        call("mlock", address, 4 * MB),
        call("mlock2", address, 4 * MB, 1),
        call("mlockall", 3),
        call("memfd_create", ctypes.addressof(name), 0),
        call("memfd_secret", 0),
        call("userfaultfd", 0),
    }
    for flags in (0x2000, 0x8000, 0x40000, 0x100, 0x8):
        got = libc.mmap(None, 4 * MB, 3, 0x22 | flags, -1, 0)
        said.add("through" if got not in (None, ctypes.c_void_p(-1).value) else errno.errorcode[ctypes.get_errno()])
    return said, 0


def pages_in_pipes():
    """Pages of memory and of files in pipes and sockets, by reference."""
    reader, writer = os.pipe()
    one, other = socket.socketpair()
    data = ctypes.create_string_buffer(PAGE)
    vector = ctypes.create_string_buffer(struct.pack("@PN", ctypes.addressof(data), PAGE))
    with open("spliced", "w+b") as file:
        file.write(bytes(PAGE))
        file.flush()
        said = {
            call("vmsplice", writer, ctypes.addressof(vector), 1, 0),
            call("splice", file.fileno(), 0, writer, 0, PAGE, 0),
            call("splice", reader, 0, one.fileno(), 0, PAGE, 0),
            call("tee", reader, writer, PAGE, 0),
        }
        try:
            os.sendfile(one.fileno(), file.fileno(), 0, PAGE)
            said.add("through")
        except OSError as error:
            said.add(errno.errorcode[error.errno])
    kept.extend((reader, writer, one, other))
    return said, 0


def locks():
    """A lock for every other byte of a file, of each kind."""
    with open("locked", "w+b") as file:
        for command in (6, 37):
            for at in range(20_000):
                fcntl.fcntl(file, command, struct.pack("hhqqi4x", 1, 0, 2 * at, 1, 0))
        kept.append(os.dup(file.fileno()))
        said = []
        for command, argument in ((1024, 1), (1026, 1), (8, os.getpid()), (10, 40), (4, 0x2000 | 0x8000 | 2)):
            said.append(call("fcntl", file.fileno(), command, argument))
    return said, 0


def objects_of_the_system():
    """What stays in tables of the kernel: System V objects, queues, keys, timers and watches."""
    name = ctypes.create_string_buffer(b"/x")
    kind = ctypes.create_string_buffer(b"user")
    said = {
        call("msgget", 0, 0o1600),
        call("semget", 0, 1, 0o1600),
        call("shmget", 0, PAGE, 0o1600),
        call("mq_open", ctypes.addressof(name), 0o102, 0o600, 0),
        call("add_key", ctypes.addressof(kind), ctypes.addressof(name), ctypes.addressof(name), 2, (1 << 64) - 2),
        call("keyctl", 0, (1 << 64) - 3, 1),
        call("timer_create", 1, 0, ctypes.addressof(name)),
        call("inotify_init1", 0),
        call("signalfd4", (1 << 64) - 1, ctypes.addressof(name), 8, 0),
        call("pidfd_open", os.getpid(), 0),
        call("io_uring_setup", 1, ctypes.addressof(name)),
    }
    return said, 0


def futexes():
    """Futexes that pass priorities on, for which the kernel keeps a record each."""
    words = (ctypes.c_uint32 * 1_000)()
    said = set()
    for number, word in enumerate(words):
        del word
        address = ctypes.addressof(words) + 4 * number
        words[number] = os.getpid() | 0x8000_0000
        for command in (6, 8, 12, 13):
            said.add(call("futex", address, command | 128, 0, 0, 0, 0))
    return said, 0


def own_files():
    """Files without a name, which are full, and folders with long names."""
    folder = os.open(".", os.O_RDONLY)
    unnamed = until_refused(lambda: os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600), 20)
    for each in kept[-unnamed:] if unnamed else ():
        try:
            while True:
                os.write(each, bytes(65_536))
        except OSError:
            pass
    named = 0
    try:
        while named < 300:
            os.mkdir(f"{named:03}" + "x" * 250, dir_fd=folder)
            named += 1
    except OSError:
        pass
    return (), unnamed + named


def pending_signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, {40})
    told = ctypes.create_string_buffer(struct.pack("iii", 40, 0, -1), 128)
    number = 297 if os.uname().machine == "x86_64" else 240
    queued = 0
    while queued < 10_000 and not libc.syscall(
        number, os.getpid(), threading.get_native_id(), 40, ctypes.addressof(told), 0, 0
    ):
        queued += 1
    return (), queued


def first_thread_ends(message):
    """Another thread goes on, with memory that is no longer writable, and sends a message to main."""

    def hold():
        time.sleep(0.1)
        for _ in range(30):
            address = libc.mmap(None, 20 * MB, 3, 0x22, -1, 0)
            if address in (None, ctypes.c_void_p(-1).value):
                break
            ctypes.memset(address, 1, 20 * MB)
            libc.mprotect(address, 20 * MB, 1)
        time.sleep(0.1)
        text = json.dumps(message).encode()
        os.write(channel(), len(text).to_bytes(4, "big") + text)
        time.sleep(3_600)

    threading.Thread(target=hold, daemon=True).start()
    libc.syscall(NUMBER_OF["exit"], *(0,) * 6)


def channel():
    for descriptor in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                return descriptor
        except OSError:
            pass


def answers_from_another_thread() -> str:
    first_thread_ends({"answer": {"text": "held"}})


def hoard(names: list, seconds: float) -> dict:
    given = {name: globals()[name]() for name in names}
    time.sleep(seconds)
    return {name: [sorted(set(said)), got] for name, (said, got) in given.items()}


def hello() -> str:
    return "hello"


TOOL_SPECS = [
    {"name": "hoards:hoard", "description": "Takes memory of the kernel, and keeps it.", "handler": hoard},
    {"name": "hoards:answers", "description": "Answers late.", "handler": answers_from_another_thread},
    {"name": "hoards:hello", "description": "Says hello.", "handler": hello},
]
