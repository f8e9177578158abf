"""The reasons why what a handler has returned cannot be the result of its call."""


class ResultError(Exception):
    """A result cannot be JSON. The text says which part and what to do, without a full stop."""


class TooManyValuesError(Exception):
    """All values of a generator together exceed the limit of a result. The text says what the limit is."""


class ContentTooLargeError(Exception):
    """A result has too many images and files, or too large ones. The text says how much it has, and what the limit is."""
