"""Prepares a child for a call with converted arguments, before its call comes."""

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from toolrack_runner.child.module.convert import converter_of
from toolrack_runner.child.module.handler import plain_handler
from toolrack_runner.child.module.load import LoadedModule
from toolrack_runner.child.module.result import result_of


class _Kind(Enum):
    ONE = "one"


@dataclass
class _Sample:
    kind: _Kind


def _echo(sample: list[_Sample]) -> list[_Sample]:
    return sample


def prepare(module: LoadedModule) -> None:
    """Builds every converter of a module. This may run code of the module.

    Never raises. An error is ignored here, because the call will meet it again. Before the module's converters, a value of a
    type of the runner is converted, so that the memory pages that a call writes are already copied when the call comes.
    """
    with suppress(BaseException):
        handler = plain_handler(_echo)
        assert handler is not None
        converter = converter_of(handler)
        assert converter is not None
        result_of(converter.convert({"sample": [{"kind": "one"}]}))
    for tool in module.places:
        with suppress(BaseException):
            if (found := module.find(tool)) is not None:
                module.converter(tool, found)
