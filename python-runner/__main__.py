"""Starts the runner, or with ``--zygote`` the process that children are forked from.

Run as ``python -I python-runner``: Python then puts this folder on ``sys.path`` and nothing else of the user's, and the
runner's own source lies in no folder that tool code may read.
"""

import gc
import sys


def main() -> None:
    # Nothing that is imported is garbage, and looking for garbage takes a tenth of the start.
    gc.disable()
    if "--zygote" in sys.argv:
        from toolrack_runner.zygote.preload import without_hooks

        with without_hooks():
            from toolrack_runner.zygote.zygote import main as become_zygote

        become_zygote()
    # The zygote takes as long to start as all the rest, and starts beside it.
    from toolrack_runner.zygote.spawn_zygote import spawn_zygote

    spawned = spawn_zygote() if sys.platform == "linux" else None
    from toolrack_runner.serve import main as serve

    serve(spawned)


if __name__ == "__main__":
    main()
