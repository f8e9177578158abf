"""A package that attacks. It is installed into an environment, and a tool calls its functions."""

import ctypes
import errno
import os
import py_compile
import socket
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)
HERE = os.path.dirname(os.path.abspath(__file__))
MNT_DETACH = 2
CLONE_NEWUSER, CLONE_NEWNS = 0x1000_0000, 0x2_0000
MS_REMOUNT, MS_BIND = 32, 4096


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def read(path):
    with open(path) as file:
        return f"through: {file.read(100)!r}"


def write(path):
    with open(path, "w") as file:
        file.write("x = 'changed'")
    return "through: written"


def read_another(aim):
    return read(f"{aim['all']}/{aim['other']}/secret.txt")


def read_another_under_the_workplace(aim):
    return read(f"/tmp/{aim['other']}/secret.txt")


def read_another_beside_its_own(aim):
    return read(f"{HERE}/../{aim['other']}/secret.txt")


def read_another_through_a_link(_aim):
    return read(f"{HERE}/link/secret.txt")


def list_all(aim):
    return f"through: {os.listdir(aim['all'])}"


def uncover_all(aim):
    for path in ("/packages", "/tmp"):
        if libc.umount2(path.encode(), MNT_DETACH) == 0 and aim["other"] in os.listdir(path):
            return "through: uncovered"
    raise OSError(ctypes.get_errno(), "refused")


def uncover_all_in_own_namespaces(aim):
    checked(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    return uncover_all(aim)


def remount_writable(_aim):
    checked(libc.mount(b"none", HERE.encode(), b"", MS_REMOUNT | MS_BIND, None))
    return "through: remounted"


def change_itself(_aim):
    return write(f"{HERE}/evil.py")


def add_to_itself(_aim):
    return write(f"{HERE}/added.py")


def write_bytecode(_aim):
    py_compile.compile(f"{HERE}/victim.py", cfile=f"{HERE}/__pycache__/victim.new.pyc", doraise=True)
    return "through: written"


def delete_itself(_aim):
    os.unlink(f"{HERE}/evil.py")
    return "through: deleted"


def rename_itself(_aim):
    os.rename(f"{HERE}/evil.py", f"{HERE}/good.py")
    return "through: renamed"


def execute_own_file(_aim):
    return f"through: {subprocess.run([f'{HERE}/program'], capture_output=True)}"


def replace_the_process(_aim):
    os.execv(f"{HERE}/program", ["program"])


def connect(aim):
    with socket.create_connection(("127.0.0.1", aim["port"]), 2):
        return "through: connected"


def read_the_runner(_aim):
    return read("/proc/1/environ")


def by_extension(aim):
    import evil_native

    passed = [f"{name} {result}" for name, result in evil_native.attack(aim["all"] + "/" + aim["other"]).items() if result >= 0]
    if passed:
        return f"through: {passed}"
    raise OSError(errno.EPERM, "refused")


ATTACKS = (
    *(read_another, read_another_under_the_workplace, read_another_beside_its_own, read_another_through_a_link),
    *(list_all, uncover_all, uncover_all_in_own_namespaces, remount_writable, change_itself, add_to_itself),
    *(write_bytecode, delete_itself, rename_itself, execute_own_file, replace_the_process, connect, read_the_runner),
)


def attack(aim):
    saw = {}
    for each in (*ATTACKS, *([by_extension] if aim["native"] else [])):
        try:
            saw[each.__name__] = each(aim)
        except OSError as error:
            saw[each.__name__] = errno.errorcode.get(error.errno, str(error))
        except Exception as error:
            saw[each.__name__] = f"{type(error).__name__}: {error}"
    saw["path"] = sys.path
    return saw
