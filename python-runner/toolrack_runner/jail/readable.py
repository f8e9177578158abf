"""What tool code may read: the interpreter, the installed packages, and the little of the system that they need."""

import os
import sys
from pathlib import Path

#: Shared libraries, and what the standard library looks up by path. Nothing of a user's and nothing of this machine's.
OF_THE_SYSTEM = (
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/usr/share/zoneinfo",
    # The certificates of authorities, for who may connect somewhere; everybody may read them.
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
)


def needed_paths() -> tuple[str, ...]:
    """The folders without which this interpreter can import nothing more."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    prefixes = dict.fromkeys((sys.base_prefix, sys.prefix))
    return tuple(path for prefix in prefixes if os.path.isdir(path := f"{prefix}/lib/{version}"))


def readable_paths() -> tuple[str, ...]:
    """All that a child may read. Never this runner's own source."""
    libraries = tuple(str(Path(path).parent) for path in needed_paths())
    return tuple(dict.fromkeys((*OF_THE_SYSTEM, *libraries)))
