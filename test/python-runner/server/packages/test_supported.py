"""An environment may have our own libraries within the ranges that our code works with."""

from importlib.metadata import version

import pytest

from server.packages.modules import MakeSettings, had
from support.package_index import PackageIndex
from support.wheels import wheel
from toolrack_runner.server.packages.supported import SUPPORTED, unsupported
from toolrack_runner.wire.fault import ModuleError


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({}, None),
        ({"pandas": "0.1"}, None),
        ({"pydantic": "2.12.0", "pydantic-core": "2.41.1"}, None),
        ({"pydantic": "1.10.2"}, "pydantic 1.10.2, and the runner's own code, which uses pydantic too, works with"),
        ({"pydantic": "2.11.7"}, ">=2.12"),
        ({"pydantic": "3.0.0a1"}, "<3"),
        ({"docstring-parser": "0.17.0"}, None),
        ({"docstring-parser": "0.1"}, "docstring-parser<1,>=0.15"),
        ({"jsonschema-rs": "0.33.0"}, "jsonschema-rs<0.61,>=0.60"),
        # Without a pydantic of its own, the module's child uses the runner's, with these.
        ({"typing-extensions": "4.1.0"}, "typing-extensions>="),
        ({"pydantic-core": "2.0.0"}, "pydantic-core=="),
        ({"typing-extensions": "4.1.0", "pydantic": "2.12.0"}, None),
    ],
)  # fmt: skip
def test_the_fault_names_the_range(versions: dict[str, str], said: str | None) -> None:
    fault = unsupported(versions, "weather.py")
    if said is None:
        assert fault is None
        return
    assert fault is not None
    assert (fault.kind, fault.code) == ("packages_unsupported", "PACKAGES_REFUSED")
    assert fault.message.startswith("weather.py: ")
    assert said in fault.message


def test_the_runner_s_own_versions_are_within() -> None:
    own = [*SUPPORTED, "pydantic-core", "typing-extensions", "typing-inspection", "annotated-types"]
    for name in own:
        assert unsupported({name: version(name)}, "weather.py") is None, name


@pytest.mark.parametrize(
    "name", ["docstring_parser", "pydantic_core", "annotated_types", "typing_extensions", "pydantic"]
)
def test_a_package_that_brings_a_library_of_the_runner_under_another_name_is_refused(
    index: PackageIndex, make_settings: MakeSettings, name: str
) -> None:
    index.wheels = [wheel("other", files={f"{name}/__init__.py": ""})]
    with pytest.raises(ModuleError) as refused:
        had(make_settings(), "other")
    assert refused.value.fault.kind == "packages_unsupported"
    assert f"install a module {name}, which" in refused.value.fault.message


def test_a_library_of_the_runner_under_its_own_name_is_installed(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("docstring-parser", "0.17.0")]
    assert had(make_settings(), "docstring-parser").environment.modules == {"docstring_parser"}
