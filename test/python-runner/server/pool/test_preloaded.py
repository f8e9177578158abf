"""A zygote that has imported another version than the environment has is not shared."""

import pytest

from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.pool.preloaded import fits, installed_distributions, normalised, shared
from toolrack_runner.server.pool.zygotes import installed_packages

INSTALLED = {
    "pandas": {("pandas", "2.2.0")},
    "numpy": {("numpy", "1.26.0")},
    "google": {("google-auth", "2.0"), ("google-api", "1.0")},
    "yaml": {("pyyaml", "6.0")},
}


def environment(modules: set[str], **versions: str) -> Environment:
    return Environment(
        "sha256:0",
        "0",
        0,
        {name.replace("_", "-"): each for name, each in versions.items()},
        frozenset(modules),
    )


@pytest.mark.parametrize(
    ("modules", "versions", "loaded", "is_shared"),
    [
        (set(), {}, ["pandas", "numpy"], True),
        ({"other"}, {"other": "1"}, ["pandas", "numpy"], True),
        ({"pandas", "numpy"}, {"pandas": "2.2.0", "numpy": "1.26.0"}, ["pandas", "numpy"], True),
        ({"pandas"}, {"pandas": "2.1.0"}, ["pandas"], False),
        # What pandas has imported counts too.
        ({"pandas", "numpy"}, {"pandas": "2.2.0", "numpy": "2.0.0"}, ["pandas", "numpy"], False),
        ({"numpy"}, {"numpy": "2.0.0"}, ["yaml"], True),
        # The names of the import and of the package differ.
        ({"yaml"}, {"pyyaml": "5.0"}, ["yaml"], False),
        ({"yaml"}, {"pyyaml": "6.0"}, ["yaml"], True),
        # Another package claims the name.
        ({"yaml"}, {"evil": "6.0"}, ["yaml"], False),
        ({"unknown"}, {"evil": "1"}, ["unknown"], False),
        # The same package in another version, which no longer has this name.
        (set(), {"pyyaml": "7.0"}, ["yaml"], False),
        # Several packages have parts under one name.
        ({"google"}, {"google_auth": "2.0"}, ["google"], False),
        ({"google"}, {"google_auth": "2.0", "google_api": "1.0"}, ["google"], True),
        ({"x"}, {"google_auth": "2.0"}, ["google"], True),
        ({"x"}, {"google_auth": "3.0"}, ["google"], False),
    ],
)
def test_what_a_zygote_has_imported_is_the_same_or_is_not_in_the_environment(
    modules: set[str], versions: dict[str, str], loaded: list[str], is_shared: bool
) -> None:
    assert fits(environment(modules, **versions), loaded, INSTALLED) is is_shared


def test_pydantic_counts_with_all_that_it_imports() -> None:
    packages = frozenset({"pydantic", "docstring_parser"})
    assert shared(packages, None) == packages
    assert shared(packages, environment({"x"}, x="1")) == packages
    assert shared(packages, environment({"typing_extensions"}, typing_extensions="4.0")) == {
        "docstring_parser"
    }
    assert shared(packages, environment({"docstring_parser"}, docstring_parser="0.1")) == {"pydantic"}


def test_the_packages_of_this_environment_are_known_by_the_names_of_their_imports() -> None:
    assert [name for name, _ in installed_distributions()["docstring_parser"]] == ["docstring-parser"]
    assert normalised("Ruamel.YAML__clib") == "ruamel-yaml-clib"


def test_the_operator_chooses_what_zygotes_may_preload_by_the_name_of_the_package_or_of_the_import() -> None:
    everything = installed_packages()
    assert {"docstring_parser", "pydantic"} <= everything
    assert installed_packages([]) == frozenset()
    assert installed_packages(["docstring_parser"]) == {"docstring_parser"}
    assert installed_packages(["Docstring-Parser"]) == {"docstring_parser"}
    assert installed_packages(["typing-extensions", "not-there"]) == {"typing_extensions"}
