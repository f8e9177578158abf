"""Starts the runner, or with ``--zygote`` the process that children are forked from.

Run as ``python -I python-runner``. Then ``sys.path`` has this folder and no other folder of the user, and the runner's own
source is in no folder that tool code may read.
"""

import gc
import sys


def main() -> None:
    # Imports make no garbage, and the garbage collector would take a tenth of the start time.
    gc.disable()
    if "--zygote" in sys.argv:
        if "--without=namespaces" not in sys.argv:
            from toolrack_runner.child.jail.user_namespace import start_again_in_own_user_namespace

            start_again_in_own_user_namespace(sys.argv[0])
        from toolrack_runner.zygote.preload import without_hooks

        with without_hooks():
            from toolrack_runner.zygote.zygote import main as become_zygote

        become_zygote()
    # The zygote starts at the same time as the rest of the runner, because it takes just as long.
    from toolrack_runner.server.pool.spawn_zygote import spawn_zygote

    spawned = spawn_zygote() if sys.platform == "linux" else None
    from toolrack_runner.server.serve import main as serve

    serve(spawned)


if __name__ == "__main__":
    main()
