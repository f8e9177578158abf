"""What code imports, by its instructions, is what its syntax tree says."""

import pytest

from toolrack_runner.child.module.imports import imports_of_code
from toolrack_runner.child.module.parse import parse_module

SOURCE = (
    """
import json, os.path
import urllib.request as request
from collections import abc
try:
    import numpy
except ImportError:
    numpy = None

class Holder:
    import decimal

    def late(self):
        from pandas import DataFrame
        return lambda: __import__("never") or DataFrame

async def later():
    import asyncio
    return asyncio
"""
    + "\n".join(f"name_{number} = {number}" for number in range(300))
    + "\nimport statistics\nTOOL_SPECS = []\n"
)


def test_code_and_tree_name_the_same_packages() -> None:
    by_code = imports_of_code(compile(SOURCE, "m.py", "exec"))
    by_tree = [package.name for package in parse_module("m", SOURCE.encode()).packages]
    assert sorted(by_code) == sorted(by_tree)
    assert {
        "json",
        "os",
        "urllib",
        "collections",
        "numpy",
        "decimal",
        "pandas",
        "asyncio",
        "statistics",
    } == set(by_code)


def test_an_import_without_a_name_is_none() -> None:
    assert imports_of_code(compile("from . import x", "m.py", "exec")) == ()


@pytest.mark.parametrize("constants", [0, 10, 300, 70_000])
def test_files_of_the_module_itself_are_no_packages_however_many_constants_come_before(
    constants: int,
) -> None:
    before = "".join(f"x{number} = {number}.5\n" for number in range(constants))
    source = (
        f"{before}from .numpy import a\nfrom ..pandas.b import (c, d)\nimport yaml.e\nfrom tomli import f\n"
    )
    assert imports_of_code(compile(source, "m.py", "exec")) == ("yaml", "tomli")
