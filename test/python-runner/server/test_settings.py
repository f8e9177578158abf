"""What the operator lets one user have of the runner."""

from pathlib import Path

import pytest

from toolrack_runner.server.http.runner import shares_of_calls, shares_of_checks
from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.settings import read_settings
from toolrack_runner.server.variables import SettingsError


def shares(**environment: str) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int], bool]:
    """The bounds of calls and of checks, and whether one user has all."""
    given = {f"TOOLRACK_RUNNER_{name}": value for name, value in environment.items()}
    settings = read_settings(given, ["--parent=stdin"])
    bounds = settings.slots, settings.user_slots
    return shares_of_calls(*bounds), shares_of_checks(*bounds), settings.is_for_one_user


@pytest.mark.parametrize(
    ("environment", "calls", "checks"),
    [
        ({}, (8, 4, 8, 128), (4, 2, 4, 64)),
        ({"USER_SLOTS": ""}, (8, 4, 8, 128), (4, 2, 4, 64)),
        ({"SLOTS": "1"}, (1, 1, 2, 16), (2, 1, 2, 32)),
        ({"SLOTS": "3"}, (3, 1, 2, 48), (2, 1, 2, 32)),
        ({"SLOTS": "8", "USER_SLOTS": "2"}, (8, 2, 4, 128), (4, 1, 2, 64)),
    ],
)
def test_one_user_has_half_unless_the_operator_says_otherwise(
    environment: dict[str, str], calls: tuple[int, ...], checks: tuple[int, ...]
) -> None:
    assert shares(**environment) == (calls, checks, False)


@pytest.mark.parametrize(
    ("environment", "calls", "checks"),
    [
        ({"USER_SLOTS": "all"}, (8, 8, 16, 128), (4, 4, 8, 64)),
        ({"USER_SLOTS": "8"}, (8, 8, 16, 128), (4, 4, 8, 64)),
        ({"SLOTS": "1", "USER_SLOTS": "all"}, (1, 1, 2, 16), (2, 2, 4, 32)),
    ],
)
def test_one_user_may_have_everything(
    environment: dict[str, str], calls: tuple[int, ...], checks: tuple[int, ...]
) -> None:
    assert shares(**environment) == (calls, checks, True)


@pytest.mark.parametrize("value", ["0", "9", "half", "-1", "²", "ALL"])
def test_a_share_that_no_user_can_have_is_refused_with_its_cure(value: str) -> None:
    with pytest.raises(
        SettingsError, match=r"^TOOLRACK_RUNNER_USER_SLOTS: .* neither `all` nor .* the 8 slots$"
    ):
        read_settings({"TOOLRACK_RUNNER_USER_SLOTS": value}, ["--parent=stdin"])


def packages_of(*arguments: str, **environment: str) -> PackageSettings:
    """The settings of packages with these variables."""
    given = {f"TOOLRACK_PACKAGES{name}": value for name, value in environment.items()}
    cloud = {"K_SERVICE": "runner"} if "cloud" in arguments else {}
    return read_settings(given | cloud, [] if cloud else ["--parent=stdin"]).packages


def test_packages_are_on_unless_the_platform_is_a_cloud_and_below_a_cache_of_the_system() -> None:
    assert (packages_of().is_on, packages_of("cloud").is_on) == (True, False)
    assert packages_of("cloud", **{"": "on"}).is_on is True
    assert packages_of(**{"": "off"}).is_on is False
    assert packages_of().folder == Path("~/.cache/toolrack/packages").expanduser()
    assert packages_of("cloud").folder.parent == Path("/tmp")
    assert read_settings({"XDG_CACHE_HOME": "/c"}, ["--parent=stdin"]).packages.folder == Path(
        "/c/toolrack/packages"
    )
    assert packages_of(_DIR="here").folder == Path.cwd() / "here"


def test_lists_of_packages_are_globs_of_names() -> None:
    assert (packages_of().allow, packages_of(_ALLOW="").allow, packages_of().deny) == (None, None, ())
    assert packages_of(_ALLOW="pandas, types-*,").allow == ("pandas", "types-*")
    written = "NumPy,python_dateutil, Zope.Interface*,a__b"
    assert packages_of(_DENY=written).deny == ("numpy", "python-dateutil", "zope-interface*", "a-b")
    assert (packages_of().preload, packages_of(_PRELOAD="none").preload) == (None, frozenset())
    assert packages_of(_PRELOAD="pandas,scikit-learn").preload == frozenset({"pandas", "scikit-learn"})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("", "yes"),
        ("_ALLOW", "pandas>=2"),
        ("_WHEELS", "/nope"),
        ("_WHEELS", __file__),
        ("_DENY", "[a-z]"),
        ("_INDEX", "file:///s3cret"),
        ("_INDEX", "s3cret"),
        ("_MB", "0"),
        ("_FILES", "many"),
        ("_SECONDS", "3601"),
        ("_COUNT", "0"),
        ("_PRELOAD", "a;b"),
    ],
)
def test_a_setting_of_packages_that_cannot_be_used_is_named_and_no_address_is_shown(
    variable: str, value: str
) -> None:
    with pytest.raises(SettingsError, match=rf"^TOOLRACK_PACKAGES{variable}\b") as error:
        packages_of(**{variable: value})
    assert "s3cret" not in f"{error.value}"


@pytest.mark.parametrize("variable", ["_ALLOW", "_DENY", "_PRELOAD"])
def test_the_bad_item_of_a_list_is_named(variable: str) -> None:
    with pytest.raises(SettingsError, match=r": 'b>=2' is not ") as error:
        packages_of(**{variable: "good,b>=2,other"})
    assert "good" not in f"{error.value}"


def test_a_folder_of_wheels_must_be_there_at_the_start(tmp_path: Path) -> None:
    assert packages_of(_WHEELS=str(tmp_path)).wheels == tmp_path
    with pytest.raises(SettingsError, match=r"^TOOLRACK_PACKAGES_WHEELS: .* cannot be read: No such file"):
        packages_of(_WHEELS=str(tmp_path / "nope"))
