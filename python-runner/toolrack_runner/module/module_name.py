"""Which names a module may have: it is imported by that name, beside everything that is installed."""

import sys
from keyword import iskeyword

from toolrack_runner.module.fault import Fault, fault
from toolrack_runner.module.limits import MODULE_NAME_MAX


def module_name_fault(name: str) -> Fault | None:
    """Why a module can't have this name; None when it can. Imports nothing to find out."""
    if not (name.isascii() and name.isidentifier() and len(name) <= MODULE_NAME_MAX) or iskeyword(name):
        rule = f"1 to {MODULE_NAME_MAX} ASCII letters, digits and _, no digit first, and no word of Python"
        shown = name if name.isprintable() and len(name) <= MODULE_NAME_MAX else "the file"
        return Fault("module_name_invalid", f"{shown}: this is no module name ({rule}). Rename the file.")
    if name.startswith("__"):
        return fault(
            "module_name_invalid", name, None, "names that start with __ are Python's. Rename the file."
        )
    if name in sys.stdlib_module_names or is_available(name):
        owner = "Python's standard library" if name in sys.stdlib_module_names else "an installed package"
        sentence = f"'{name}' is the name of {owner}, which the file would hide. Rename it, for example to {name}_tools.py."
        return fault("module_name_taken", name, None, sentence)
    return None


def is_available(package: str) -> bool:
    """Whether `import package` would find something here; imports nothing to find out.

    Asks the finders themselves: what stands under a name already may be a module like the one that is asked for.
    """
    return any(finder.find_spec(package, None) is not None for finder in sys.meta_path)
