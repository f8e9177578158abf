"""The paths that code of tools may read: the interpreter, installed packages, and what they need of the system."""

import os
import sys
from pathlib import Path

#: Shared libraries, and files that the standard library opens by path. They contain no data of users, and do not describe
#: this machine.
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
    # The public certificates of certificate authorities, for tools that may connect to hosts.
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
)


def installed_paths() -> tuple[str, ...]:
    """The folders in which this process finds installed packages, in the order of its import path.

    Zygotes start without them.
    """
    return tuple(
        path
        for path in sys.path
        if os.path.basename(path) in ("site-packages", "dist-packages") and os.path.isdir(path)
    )


def needed_paths() -> tuple[str, ...]:
    """The folders that this interpreter needs for every import."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    prefixes = dict.fromkeys((sys.base_prefix, sys.prefix))
    return tuple(path for prefix in prefixes if os.path.isdir(path := f"{prefix}/lib/{version}"))


def readable_paths() -> tuple[str, ...]:
    """All paths that a child may read. The source of the runner itself is not among them."""
    libraries = tuple(str(Path(path).parent) for path in needed_paths())
    return tuple(dict.fromkeys((*OF_THE_SYSTEM, *libraries)))
