"""What `npm test` leaves to `npm run test:all`."""

import os
from typing import Final

#: True in `npm test`, which repeats nothing. `npm run test:all` and named tests run everything.
QUICK: Final = os.environ.get("TOOLRACK_TEST_QUICK") == "true"


def examples(most: int) -> int:
    """How many random examples a property is tried with: `most`, or a twentieth of it in `npm test`."""
    return most // 20 if QUICK else most
