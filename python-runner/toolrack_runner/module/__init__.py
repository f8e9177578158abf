"""Everything about one tool module, inside one jailed process: reading it, checking it, calling it.

Knows no socket and no jail.
"""

from .call import call_tool
from .check import check_module
from .fault import Fault, ModuleFault
from .load import LoadedModule, load_module
from .parse import ParsedModule, parse_module

__all__ = [
    "Fault",
    "LoadedModule",
    "ModuleFault",
    "ParsedModule",
    "call_tool",
    "check_module",
    "load_module",
    "parse_module",
]
