"""What a probe can observe besides the name of an errno and the text of an exception."""

from typing import Final

#: The attack succeeded.
ESCAPED: Final = "escaped"
#: The system call reported success, but nothing has changed.
UNCHANGED: Final = "unchanged"
