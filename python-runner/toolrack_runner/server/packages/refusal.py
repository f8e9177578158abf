"""Why a module cannot have its packages: for good, or for now."""

from toolrack_runner.wire.fault import FaultKind


class PackagesRefusedError(Exception):
    """These packages cannot be had here. The message is a sentence, without the file of the module."""

    def __init__(self, kind: FaultKind, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


class PackagesUnavailableError(Exception):
    """The index, the disk or uv fails now. The message is a sentence. A retry can succeed."""


class DiskFullError(PackagesUnavailableError):
    """The disk of the runner is full."""

    def __init__(self) -> None:
        super().__init__(
            "the disk of the runner is full (TOOLRACK_PACKAGES_DIR). Nothing was kept. "
            "The operator makes room; then try again."
        )
