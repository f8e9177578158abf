"""An error that is answered with a status: the caller's fault or the runner's, never the tool's."""


class Fault(Exception):
    """Recognise it by its code; the message is for the caller and repeats nothing that was rejected."""

    def __init__(self, code: str, message: str, *, retry_after_seconds: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after_seconds = retry_after_seconds
