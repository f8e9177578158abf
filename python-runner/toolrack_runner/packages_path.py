"""The path at which a child sees the packages of its module."""

from typing import Final

#: Where a child mounts its one environment. The zygote makes this folder in the root of its children. The compiled files of
#: an environment name it too, so that tracebacks show a path that the tool can read.
PACKAGES_PATH: Final = "/packages"
