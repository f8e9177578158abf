"""Starts the runner, or with ``--zygote`` the process that children are forked from.

Run as ``python -I python-runner``: Python then puts this folder on ``sys.path`` and nothing else of the user's, and the
runner's own source lies in no folder that tool code may read.
"""

import sys


def main() -> None:
    if "--zygote" in sys.argv:
        from toolrack_runner.zygote.zygote import main as run
    else:
        from toolrack_runner.serve import main as run
    run()


if __name__ == "__main__":
    main()
