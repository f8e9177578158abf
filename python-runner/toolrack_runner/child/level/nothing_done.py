"""The exception of an attack that changed nothing."""


class NothingDoneError(Exception):
    """Raised by an attack if its system calls report success but nothing has changed. The probe reports UNCHANGED."""
