"""Reads, checks and calls one tool module, inside one jailed process. Uses no sockets and does not know the jail."""

from toolrack_runner.module.call import call_tool
from toolrack_runner.module.check import check_module
from toolrack_runner.module.fault import Fault, ModuleError
from toolrack_runner.module.imports import imports_of_code
from toolrack_runner.module.load import LoadedModule, load_known, load_module, places, portable_code
from toolrack_runner.module.parse import parse_module

__all__ = [
    "Fault",
    "LoadedModule",
    "ModuleError",
    "call_tool",
    "check_module",
    "imports_of_code",
    "load_known",
    "load_module",
    "parse_module",
    "places",
    "portable_code",
]
