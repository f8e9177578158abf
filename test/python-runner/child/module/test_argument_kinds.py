import sys
from types import ModuleType
from unittest.mock import patch

import pytest

from toolrack_runner.child.module.argument_kinds import argument_kinds
from toolrack_runner.child.module.handler import read_handler
from vectors.cases import Case, cases

HEAD = """
import os
from annotated_types import Predicate
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path, PurePath, PureWindowsPath
from typing import Annotated, Any, Literal, NewType, Optional, Union
from uuid import UUID
from pydantic import *
from pydantic_core import core_schema
from typing_extensions import TypeAliasType
"""


def kinds_of(
    annotation: str, setup: str = "", *, converts: bool = True, signature: str = "argument: {}"
) -> dict[str, list[str]]:
    """What is reported of a handler in a module of its own."""
    module = ModuleType("m")
    source = f"{HEAD}\n{setup}\ndef handler({signature.format(annotation)}): pass\n"
    with patch.dict(sys.modules, {"m": module}):
        exec(source, vars(module))
        return argument_kinds(read_handler(vars(module)["handler"], ()), converts=converts)


@pytest.mark.parametrize("case", cases("argument-types"), ids=lambda case: case.title)
def test_the_report_of_an_argument_says_what_the_conversion_makes_of_a_text(case: Case) -> None:
    reported = kinds_of(case.given["type"], case.given.get("setup", "")).get("argument", [])
    if case.expected == ["other"]:
        assert "other" in reported
    else:
        assert reported == case.expected


def test_arguments_without_a_type_of_their_own_are_not_reported() -> None:
    assert kinds_of("str", signature="a, b: {}, *, c: int = 1, context=None") == {}


def test_the_other_arguments_are_reported_under_a_name_that_no_argument_has() -> None:
    assert kinds_of("Path", signature="a: str, **more: {}") == {"**": ["path"]}


@pytest.mark.parametrize(
    ("annotation", "reported"),
    [
        ("Path", ["path", "text"]),
        ("Optional[UUID]", ["text", "uuid"]),
        ("time", None),
        ("str", None),
        ("int", None),
    ],
)
def test_without_a_conversion_a_text_is_a_text_and_what_its_annotation_promises(
    annotation: str, reported: list[str] | None
) -> None:
    assert kinds_of(annotation, converts=False).get("argument") == reported


def test_code_of_the_module_does_not_run_without_a_conversion() -> None:
    assert kinds_of("Annotated[str, AfterValidator(str.strip)]", converts=False) == {}
