"""The command lines of uv: which index it asks, and what it may do. uv gets names, versions and hashes, and nothing else."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.hidden import Hidden
from toolrack_runner.server.packages.program import Bounds, Ended, run_program
from toolrack_runner.server.packages.refusal import PackagesUnavailableError

#: Files with the certificates of a system. Without one, uv uses those that it brings.
_CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)
#: Variables of the operator that say how the index is reached. uv gets no other variable of the runner.
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
_OF_THE_NETWORK = (*_PROXIES, *(name.lower() for name in _PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR")
#: The most memory of uv. Choosing and installing pandas, polars, pyarrow, scikit-learn and matplotlib needs 300 MB. uv reads
#: the whole metadata of a package, which may unpack to a thousand times its size.
MEMORY_BYTES = 512 << 20
#: How many files uv downloads and unpacks at once. Each takes memory, and the numbers must not grow with the processors.
_DOWNLOADS = 10
_UNPACKINGS = 4
#: How often uv repeats a request that failed, and how many seconds it waits for each.
_RETRIES = 2
_REQUEST_SECONDS = 20
#: Options of every command.
_ALWAYS = (
    *("--no-config", "--no-python-downloads", "--no-sources", "--only-binary", ":all:"),
    *("--keyring-provider", "disabled", "--color", "never"),
)


class Uv:
    """uv with the settings of the operator. It comes from the runner's own environment, and never from PATH."""

    def __init__(self, settings: PackageSettings, path: str | None = None) -> None:
        self._settings = settings
        self.path = path or os.path.join(os.path.dirname(sys.executable), "uv")
        self.hidden = Hidden(settings)

    @property
    def has_index(self) -> bool:
        """Whether an index is asked. If not, all wheels come from the folder of the operator."""
        return self._settings.wheels is None

    async def run(
        self,
        arguments: Sequence[str],
        cache: Path,
        *,
        offline: bool = False,
        on_line: Callable[[str], None] = lambda _: None,
    ) -> Ended:
        """Runs `uv pip …`. It keeps its files in `cache`, and with `offline` asks no index.

        Raises PackagesUnavailableError if there is no uv.
        """
        if not os.access(self.path, os.X_OK):
            raise PackagesUnavailableError(
                "the runner has no uv, which installs packages. The operator starts the service again with npm start, which "
                "installs it."
            )
        command = [self.path, "pip", *arguments, *_ALWAYS, "--python", sys.executable, *self._where(offline)]
        return await run_program(
            command,
            self._environment(cache),
            Bounds(self._settings.bytes_max, data_bytes=MEMORY_BYTES),
            on_line=on_line,
        )

    def _where(self, offline: bool) -> list[str]:
        if self._settings.wheels is not None:
            return ["--offline", "--no-index", "--find-links", str(self._settings.wheels)]
        certificates = ["--system-certs"] if any(map(os.path.exists, _CERTIFICATES)) else []
        return [*certificates, *(["--offline"] if offline else [])]

    def _environment(self, cache: Path) -> dict[str, str]:
        environment = {
            "HOME": str(cache / "home"),
            "LANG": "C.UTF-8",
            "PATH": "/usr/bin:/bin",
            "TMPDIR": str(cache),
            "UV_CACHE_DIR": str(cache),
            "UV_CONCURRENT_DOWNLOADS": str(_DOWNLOADS),
            "UV_CONCURRENT_INSTALLS": str(_UNPACKINGS),
            "UV_HTTP_RETRIES": str(_RETRIES),
            "UV_HTTP_TIMEOUT": str(_REQUEST_SECONDS),
        }
        environment |= {name: value for name in _OF_THE_NETWORK if (value := os.environ.get(name))}
        if self._settings.index is not None and self._settings.wheels is None:
            # In the environment, because every user of the machine can read arguments, and the URL may hold a password.
            environment["UV_DEFAULT_INDEX"] = self._settings.index
        return environment
