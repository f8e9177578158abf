"""The observations of a probe that are neither the name of an errno nor the text of an exception."""

from typing import Final

#: The attack succeeded.
ESCAPED: Final = "escaped"
#: The system call reported success, but nothing has changed.
UNCHANGED: Final = "unchanged"
