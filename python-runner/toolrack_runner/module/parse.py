"""The first stage of a check: what can be known about a module without executing a line of it."""

from dataclasses import dataclass

from toolrack_runner.module.declared_specs import (
    NOTHING_DECLARED,
    DeclaredSpecs,
    declared_specs,
    specs_are_missing,
)
from toolrack_runner.module.fault import Fault, ModuleFault, fault
from toolrack_runner.module.imports import ImportedPackage, imported_packages
from toolrack_runner.module.module_name import module_name_fault
from toolrack_runner.module.source_text import source_text
from toolrack_runner.module.syntax import code_object, syntax_tree

_CONVENTION = "A module ends with TOOL_SPECS = [{'name': …, 'description': …, 'handler': …}]"


@dataclass(frozen=True, slots=True)
class ParsedModule:
    """What a module says about itself; with a fault in it, it must not be imported."""

    name: str
    packages: tuple[ImportedPackage, ...]
    declared: DeclaredSpecs
    faults: tuple[Fault, ...]

    @property
    def imports(self) -> tuple[str, ...]:
        """The top-level packages that the module imports, in the order of the source."""
        return tuple(package.name for package in self.packages)

    @property
    def spec_lines(self) -> dict[str, int]:
        """The line of each spec whose name is written out."""
        return self.declared.spec_lines


def parse_module(name: str, source: bytes) -> ParsedModule:
    """Reads the syntax tree and executes nothing; what is wrong with the module as a whole is in `faults`."""
    found = module_name_fault(name)
    if found:
        return ParsedModule(name, (), NOTHING_DECLARED, (found,))
    try:
        text = source_text(name, source)
        tree = syntax_tree(name, text)
        code_object(name, text)
    except ModuleFault as refused:
        return ParsedModule(name, (), NOTHING_DECLARED, (refused.fault,))
    missing, meant = specs_are_missing(tree)
    faults = (_missing_fault(name, meant),) if missing else ()
    return ParsedModule(name, imported_packages(tree), declared_specs(tree), faults)


def _missing_fault(name: str, meant: str | None) -> Fault:
    hint = f"; did you mean it by '{meant}'?" if meant else "."
    return fault("specs_missing", name, None, f"there is no TOOL_SPECS{hint} {_CONVENTION}.")
