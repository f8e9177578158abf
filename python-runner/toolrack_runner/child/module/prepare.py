"""Prepares a child for a call whose arguments are converted, before the call arrives."""

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
    """Makes all converters of a module. This may run code of the module.

    Never raises. An error is ignored here, because it will come again in the call. First a value of the runner's own types
    is converted. This writes to most of the memory pages to which a call writes. The first write to a page copies the page,
    so the call is faster.
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
