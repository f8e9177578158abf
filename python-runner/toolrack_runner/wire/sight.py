"""What a probe says it saw, if that is neither the name of an errno nor the text of an exception."""

from typing import Final

ESCAPED: Final = "escaped"
#: The call reported success, but nothing has changed.
UNCHANGED: Final = "unchanged"
