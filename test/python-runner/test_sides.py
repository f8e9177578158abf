"""What runs in the server, in the zygote and in a child are folders, and what crosses between them is a fourth.

Files beside these folders are ground that several sides stand on. `__main__.py` decides which process it becomes, so it may
import any side.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "python-runner" / "toolrack_runner"

#: What the files of a side may import beside their own folder. The zygote is forked into the child, so it imports all that
#: the child runs, and the child finds it imported. Nothing else of one process is code of another.
ALLOWED = {
    "server": {"wire", "ground"},
    "zygote": {"child", "wire", "ground"},
    "child": {"wire", "ground"},
    "wire": {"ground"},
    "ground": {"wire"},
}
#: Ground that only one side imports: closed lists of the whole program.
OF_THE_WHOLE = {"errors.py", "version.py"}
#: The files of the ground that import what crosses: a fault of a file is told in a report.
ON_THE_WIRE = {"file_paths.py": {"wire/fault.py"}}


def side_of(path: str) -> str:
    """The side of a file, by its path in the package."""
    first, slash, _ = path.partition("/")
    return first if slash else "ground"


def imports_in(path: Path) -> Iterator[str]:
    """The files of the package that a file imports, also in its functions, by their paths in the package."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.partition(".")[0] == ROOT.name:
                yield file_of(name)


def file_of(name: str) -> str:
    """The file of a dotted name, which may end with the name of what the file exports."""
    place = ROOT.parent / name.replace(".", "/")
    for each in (place.with_suffix(".py"), place / "__init__.py", place.parent.with_suffix(".py")):
        if each.is_file():
            return str(each.relative_to(ROOT))
    raise AssertionError(f"no file has {name}")


IMPORTS = {
    str(path.relative_to(ROOT)): sorted(set(imports_in(path)))
    for path in sorted(ROOT.rglob("*.py"))
    if path != ROOT / "__init__.py"
}


def test_there_are_four_folders_and_the_ground() -> None:
    assert {side_of(path) for path in IMPORTS} == set(ALLOWED)


@pytest.mark.parametrize("side", ALLOWED)
def test_a_side_imports_only_what_it_may(side: str) -> None:
    wrong = [
        f"{path} imports {imported}"
        for path, found in IMPORTS.items()
        if side_of(path) == side
        for imported in found
        if side_of(imported) not in {side, *ALLOWED[side]}
    ]

    assert wrong == []


def test_the_ground_imports_what_crosses_only_where_it_is_said() -> None:
    crossing = {
        path: {imported for imported in found if side_of(imported) == "wire"}
        for path, found in IMPORTS.items()
        if side_of(path) == "ground"
    }

    assert {path: found for path, found in crossing.items() if found} == ON_THE_WIRE


@pytest.mark.parametrize("shared", ["ground", "wire"])
def test_what_is_shared_is_used_by_two_sides(shared: str) -> None:
    importers: dict[str, set[str]] = {path: set() for path in IMPORTS if side_of(path) == shared}
    for path, found in IMPORTS.items():
        for imported in found:
            if imported in importers:
                importers[imported].add(side_of(path))
    of_one_side = {
        path for path, sides in importers.items() if len(sides) < 2 and Path(path).name != "__init__.py"
    }

    assert of_one_side - OF_THE_WHOLE == set()


def test_an_import_in_a_string_is_of_a_file_that_exists() -> None:
    """Programs that tests and attacks run in other processes name the files as texts."""
    for path in (Path(__file__).parent).rglob("*.py"):
        for name in re.findall(r"toolrack_runner(?:\.[a-z]\w*)+", path.read_text("utf-8")):
            file_of(name)
