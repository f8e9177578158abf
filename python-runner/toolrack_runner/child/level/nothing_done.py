"""Tells that an attack changed nothing."""


class NothingDoneError(Exception):
    """Raised by an attempt whose observation is UNCHANGED."""
