"""Which packages the operator allows."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.lock import LockedPackage
from toolrack_runner.server.packages.refusal import PackagesRefusedError

_MB = 1 << 20


def require_on(settings: PackageSettings) -> None:
    """Raises PackagesRefusedError if modules may not have packages here."""
    if not settings.is_on:
        raise PackagesRefusedError(
            "packages_off",
            "packages of modules are off here. The operator turns them on with TOOLRACK_PACKAGES=on for the runner.",
        )


def require_allowed(settings: PackageSettings, names: Iterable[str]) -> None:
    """Raises PackagesRefusedError if a package may not be used here. `names` are normalised.

    The operator writes the globs. A name has at most 256 characters, and a glob 100.
    """
    for name in names:
        if any(fnmatchcase(name, glob) for glob in settings.deny):
            sentence = f"the package {name} is denied here. The operator can change TOOLRACK_PACKAGES_DENY of the runner."
            raise PackagesRefusedError("packages_denied", sentence)
        if settings.allow is not None and not any(fnmatchcase(name, glob) for glob in settings.allow):
            sentence = (
                f"the package {name} is not allowed here. The operator can add it to TOOLRACK_PACKAGES_ALLOW."
            )
            raise PackagesRefusedError("packages_denied", sentence)


def require_small(settings: PackageSettings, packages: Iterable[LockedPackage]) -> None:
    """Raises PackagesRefusedError if the wheels alone are larger than an environment may be. Nothing was downloaded then."""
    sizes = sorted(((each.bytes or 0, each.name) for each in packages), reverse=True)
    total = sum(size for size, _ in sizes)
    if total > settings.bytes_max:
        largest = ", ".join(f"{name} {_mb(size)} MB" for size, name in sizes[:3] if size)
        raise too_large(settings, f"the packages have {_mb(total)} MB before they are unpacked ({largest})")


def too_large(settings: PackageSettings, what: str) -> PackagesRefusedError:
    """The refusal of packages that take too much room. `what` says how much."""
    limit = f"the limit is {settings.bytes_max >> 20} MB (TOOLRACK_PACKAGES_MB)"
    return PackagesRefusedError("packages_too_large", f"{what}; {limit}. {_LESS}")


def too_many_files(settings: PackageSettings, count: int) -> PackagesRefusedError:
    limit = f"the limit is {settings.files_max} (TOOLRACK_PACKAGES_FILES)"
    return PackagesRefusedError("packages_too_large", f"the packages have {count} files; {limit}. {_LESS}")


_LESS = "Ask for fewer or smaller packages, or ask the operator of the runner."


def _mb(size: int) -> int:
    return -(-size // _MB)
