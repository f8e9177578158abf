"""Packages are installed into a folder that holds nothing but their files, which nobody can change."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from server.packages.modules import MakeSettings, had, head_with
from support.package_index import PackageIndex
from support.quick import QUICK
from support.wheels import HERE, Wheel, wheel
from toolrack_runner.packages_path import PACKAGES_PATH
from toolrack_runner.server.packages.lock import Lock, LockedPackage, LockError, read_lock
from toolrack_runner.server.packages.refusal import PackagesRefusedError, PackagesUnavailableError
from toolrack_runner.server.packages.resolve import PLATFORM, PYTHON
from toolrack_runner.server.packages.tree import files_in
from toolrack_runner.server.packages.uv import Uv


def lock_of(*wheels: Wheel) -> Lock:
    """The lock of these wheels, as a service has kept it."""
    packages = tuple(LockedPackage(each.name, each.version, each.file, each.sha256, None) for each in wheels)
    return Lock(head_with(*(each.name for each in wheels)).texts, PYTHON, PLATFORM, packages)


def nothing_is_left(folder: Path) -> bool:
    """Whether there is no environment, and nothing half-built."""
    return not any(any((folder / name).iterdir()) for name in ("environments", "manifests", "work"))


def test_an_environment_is_read_only_for_everybody_and_compiled(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    files = {
        "alpha/__init__.py": "import os\n",
        "alpha/broken.py": "def",
        "alpha/data.txt": "x",
        "beta.py": "",
    }
    index.wheels = [wheel("alpha", files=files | {"alpha/_native.so": b"library"})]
    result = had(make_settings(), "alpha")
    folder = make_settings().folder / "environments" / result.environment.folder
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in files_in(folder)} == {0o444}
    assert {stat.S_IMODE(os.stat(inner).st_mode) for inner, _, _ in os.walk(folder)} == {0o555}
    compiled = sorted(entry.name for entry in files_in(folder) if entry.name.endswith(".pyc"))
    assert compiled == [f"__init__.{tag()}.pyc", f"beta.{tag()}.pyc"]
    content = (folder / f"__pycache__/beta.{tag()}.pyc").read_bytes()
    # The flags of a file that is never compared with its source (PEP 552).
    assert content[4:8] == b"\x01\0\0\0"
    assert f"{PACKAGES_PATH}/beta.py".encode() in content
    assert result.environment.modules == {"alpha", "beta"}
    assert result.environment.library_bytes == len(b"library")
    assert result.environment.versions == {"alpha": "1.0"}
    run = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path.append({str(folder)!r}); import alpha, beta",
    ]
    subprocess.run(run, check=True)


def tag() -> str:
    """The tag of compiled files of this interpreter."""
    assert sys.implementation.cache_tag is not None
    return sys.implementation.cache_tag


def test_programs_and_files_that_python_runs_at_its_start_are_left_out_and_named(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [
        wheel(
            "alpha",
            files={
                "alpha/__init__.py": "",
                "alpha/inner.pth": "",
                "evil.pth": "import os; os._exit(1)\n",
                "sitecustomize.py": "raise SystemExit",
                "usercustomize/__init__.py": "raise SystemExit",
                f"sitecustomize.{tag()}.so": b"",
                "alpha-1.0.data/scripts/alpha": "#!python\n",
                "alpha-1.0.dist-info/entry_points.txt": "[console_scripts]\na = alpha:run\n",
            },
        )
    ]
    result = had(make_settings(), "alpha")
    folder = make_settings().folder / "environments" / result.environment.folder
    assert sorted(os.listdir(folder)) == ["alpha", "alpha-1.0.dist-info"]
    names = ("evil.pth", f"sitecustomize.{tag()}.so", "sitecustomize.py", "usercustomize")
    assert result.environment.start_files == names
    (note,) = head_with("alpha").notes(result.environment)
    assert note["kind"] == "package_start_file"
    assert note["message"].startswith("words.py, line 2: the packages have 'evil.pth'")


def test_names_of_the_standard_library_are_noted(index: PackageIndex, make_settings: MakeSettings) -> None:
    index.wheels = [wheel("alpha", files={"json/__init__.py": "", "os.py": "", "alpha.py": ""})]
    environment = had(make_settings(), "alpha").environment
    assert environment.hidden == ("json", "os")
    (note,) = head_with("alpha").notes(environment)
    assert note["kind"] == "package_hidden"
    assert "'json' and 'os'" in note["message"]


def test_a_lock_with_another_hash_is_refused(index: PackageIndex, make_settings: MakeSettings) -> None:
    index.wheels = [wheel("alpha", files={"alpha.py": "published"})]
    other = wheel("alpha", files={"alpha.py": "locked"})
    for _ in range(2):  # The second time, the wheel could come from the cache.
        with pytest.raises(PackagesRefusedError, match=r"another sha256.*relock=1") as refused:
            had(make_settings(), "alpha", kept=lock_of(other))
        assert refused.value.kind == "packages_changed"
    assert nothing_is_left(make_settings().folder)


def test_a_file_that_is_not_the_listed_one_is_refused(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha")]
    index.replaced = {index.wheels[0].file: wheel("alpha", files={"alpha.py": "evil"}).content}
    with pytest.raises(PackagesRefusedError) as refused:
        had(make_settings(), "alpha")
    assert refused.value.kind == "packages_changed"


def test_a_version_that_is_yanked_later_still_installs_from_its_lock(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha"), wheel("alpha", "2.0")]
    index.yanked = {index.wheels[0].file}
    assert had(make_settings(), "alpha", kept=lock_of(index.wheels[0])).environment.versions == {
        "alpha": "1.0"
    }


@pytest.mark.parametrize("what", ["package", "version", "file", "folder"])
def test_a_locked_package_that_is_gone_may_be_tried_again(
    index: PackageIndex, make_settings: MakeSettings, what: str, tmp_path: Path
) -> None:
    lock = lock_of(wheel("alpha"))
    settings = make_settings()
    match what:
        case "version":
            index.wheels = [wheel("alpha", "2.0")]
        case "file":
            index.wheels = [wheel("alpha")]
            index.missing = {index.wheels[0].file}
        case "folder":
            settings = make_settings(wheels=tmp_path)
    with pytest.raises(PackagesUnavailableError, match=r"a locked package is gone.*relock=1"):
        had(settings, "alpha", kept=lock)


def test_packages_that_are_too_large_are_refused_before_they_are_downloaded(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [
        wheel("alpha", files={"alpha.bin": os.urandom(3 << 20)}),
        wheel("beta", requires=("alpha",)),
    ]
    # uv may read the metadata in a wheel. The content of the file is never asked for.
    with pytest.raises(PackagesRefusedError, match=r"4 MB before .*alpha 4 MB.*limit is 2 MB") as refused:
        had(make_settings(bytes_max=2 << 20), "beta")
    assert refused.value.kind == "packages_too_large"
    folder = make_settings().folder
    assert nothing_is_left(folder)
    assert not any(folder.glob("cache/archive-*"))


@pytest.mark.parametrize("is_told", [True, False])
def test_packages_that_are_too_large_when_they_are_unpacked_are_refused(
    index: PackageIndex, make_settings: MakeSettings, is_told: bool
) -> None:
    index.is_html = not is_told
    index.wheels = [wheel("alpha", files={f"alpha/{n}.bin": bytes(1 << 20) for n in range(5)})]
    with pytest.raises(PackagesRefusedError, match=r"limit is 4 MB \(TOOLRACK_PACKAGES_MB\)") as refused:
        had(make_settings(bytes_max=4 << 20), "alpha")
    assert refused.value.kind == "packages_too_large"
    assert nothing_is_left(make_settings().folder)


def test_one_file_that_is_too_large_is_refused_while_it_is_unpacked(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha", files={"alpha.bin": bytes(16 << 20)})]
    with pytest.raises(PackagesRefusedError, match="TOOLRACK_PACKAGES_MB") as refused:
        had(make_settings(bytes_max=4 << 20), "alpha")
    assert refused.value.kind == "packages_too_large"
    assert nothing_is_left(make_settings().folder)


@pytest.mark.parametrize(
    ("count", "limits"), [(30, {"files_max": 20}), *([] if QUICK else [(50_000, dict[str, int]())])]
)
def test_packages_with_too_many_files_are_refused(
    index: PackageIndex, make_settings: MakeSettings, count: int, limits: dict[str, int]
) -> None:
    index.wheels = [wheel("alpha", files={f"alpha/{n}.txt": "" for n in range(count)})]
    with pytest.raises(PackagesRefusedError, match="TOOLRACK_PACKAGES_FILES") as refused:
        had(make_settings(**limits), "alpha")
    assert refused.value.kind == "packages_too_large"
    assert nothing_is_left(make_settings().folder)


def test_compiled_files_count_too(index: PackageIndex, make_settings: MakeSettings) -> None:
    index.wheels = [wheel("alpha", files={f"alpha/m{n}.py": "" for n in range(12)})]
    with pytest.raises(PackagesRefusedError, match="TOOLRACK_PACKAGES_FILES"):
        had(make_settings(files_max=20), "alpha")


@pytest.mark.parametrize(
    "hostile",
    [
        wheel("alpha", files={"../../outside.py": ""}),
        wheel("alpha", files={"/tmp/outside-of-toolrack.py": ""}),
        wheel("alpha", files={"alpha-1.0.data/scripts/../../../outside.py": ""}),
        wheel("alpha", files={"alpha.py": "", "link": "/etc/passwd"}, modes={"link": stat.S_IFLNK | 0o777}),
        wheel("alpha", files={"alpha.py": "", "alpha/\n.py": ""}),
        wheel("alpha", files={"alpha/setuid": "x"}, modes={"alpha/setuid": stat.S_IFREG | 0o6755}),
    ],
    ids=["parent", "absolute", "script", "link", "unprintable", "set-uid"],
)
def test_a_hostile_wheel_puts_nothing_outside_and_no_link_and_no_set_uid_bit(
    index: PackageIndex, make_settings: MakeSettings, tmp_path: Path, hostile: Wheel
) -> None:
    index.wheels = [hostile]
    before = {str(path) for path in tmp_path.rglob("*outside*")}
    try:
        environment = had(make_settings(), "alpha").environment
    except PackagesRefusedError as refused:
        kind = refused.kind
        assert kind == "packages_unsafe"
        assert nothing_is_left(make_settings().folder)
    else:
        folder = make_settings().folder / "environments" / environment.folder
        assert all(stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode) for entry in files_in(folder))
        assert not any(entry.stat().st_mode & 0o7333 for entry in files_in(folder))
    outside = {str(path) for path in tmp_path.rglob("*outside*")} - before
    assert {path for path in outside if "/environments/" not in path and "/cache/" not in path} == set()
    assert not Path("/tmp/outside-of-toolrack.py").exists()


@pytest.mark.parametrize("said", ["No space left on device (os error 28)", "Hash mismatch"])
def test_a_name_in_a_wheel_that_reads_like_another_failure_costs_others_nothing(
    index: PackageIndex, make_settings: MakeSettings, said: str
) -> None:
    index.wheels = [wheel("alpha", files={f"a\x01 {said}": ""}), wheel("beta")]
    settings = make_settings()
    had(settings, "beta")
    with pytest.raises(PackagesRefusedError, match="a wheel is broken") as refused:
        had(settings, "alpha")
    assert refused.value.kind == "packages_unsafe"
    assert any(settings.folder.glob("cache/archive-*/*/beta"))


@pytest.mark.parametrize(
    "path",
    ["d/" * 1500 + "x.py", "d/" * 60 + "x.py", "/".join(["x" * 200] * 10)],
    ids=["deep and long", "deep", "long"],
)
def test_a_wheel_with_a_deep_or_long_path_is_refused_and_others_are_installed_after_it(
    index: PackageIndex, make_settings: MakeSettings, path: str
) -> None:
    index.wheels = [wheel("alpha", files={path: ""}), wheel("beta")]
    with pytest.raises(PackagesRefusedError, match=r"more than (50 folders|1000 characters)") as refused:
        had(make_settings(), "alpha")
    assert refused.value.kind == "packages_unsafe"
    assert nothing_is_left(make_settings().folder)
    # This runner has just started, so it has swept.
    assert had(make_settings(), "beta").environment.versions == {"beta": "1.0"}


def test_names_that_differ_by_case_or_hyphen_are_one_package(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("Al_pha"), wheel("beta", requires=("AL.PHA",))]
    assert had(make_settings(), "al-pha", "Al_Pha", "beta").environment.versions == {
        "al-pha": "1.0",
        "beta": "1.0",
    }
    one = wheel("al-pha")
    for twice in (lock_of(one, one), lock_of(one, one._replace(name="Al_pha"))):
        with pytest.raises(LockError, match=r"twice|is not the package in the file"):
            read_lock(twice.as_json())


@pytest.mark.parametrize(
    "package",
    [
        LockedPackage("alpha", "1.0\n--index-url x", "alpha-1.0-py3-none-any.whl", "0" * 64, None),
        LockedPackage("alpha", "2.0", "alpha-1.0-py3-none-any.whl", "0" * 64, None),
        LockedPackage("alpha", "1.0", "../alpha-1.0-py3-none-any.whl", "0" * 64, None),
        LockedPackage("alpha", "1.0", "alpha-1.0.tar.gz", "0" * 64, None),
        LockedPackage("alpha", "1.0", "alpha-1.0-py3-none-any.whl", "0" * 63 + "\n", None),
    ],
)
def test_a_lock_whose_fields_do_not_fit_together_is_refused(package: LockedPackage) -> None:
    with pytest.raises(LockError):
        read_lock(Lock((), PYTHON, PLATFORM, (package,)).as_json())


def test_a_lock_is_read_back_as_it_was_written() -> None:
    lock = lock_of(wheel("alpha"), wheel("beta", tag=f"{HERE}-{HERE}-manylinux_2_17_x86_64"))
    assert read_lock(lock.as_json()) == lock
    with pytest.raises(LockError, match="digest is not"):
        read_lock(lock.as_json() | {"digest": "sha256:" + "0" * 64})


def test_a_file_that_ends_the_compiler_is_left_out(index: PackageIndex, make_settings: MakeSettings) -> None:
    nested = "x = " + "-" * 200_000 + "1\n"
    large = "x = [" + "'a'," * 900_000 + "]\n"
    index.wheels = [wheel("alpha", files={"a.py": "", "b.py": nested, "c.py": large, "d.py": ""})]
    environment = had(make_settings(), "alpha").environment
    folder = make_settings().folder / "environments" / environment.folder
    compiled = {entry.name.partition(".")[0] for entry in files_in(folder) if entry.name.endswith(".pyc")}
    assert {"a", "d"} <= compiled
    assert "b" not in compiled


def test_progress_names_the_packages_and_their_size(index: PackageIndex, make_settings: MakeSettings) -> None:
    index.wheels = [wheel("alpha"), wheel("beta")]
    said: list[str] = []
    had(make_settings(), "alpha", "beta", listener=said.append)
    had(make_settings(), "alpha", listener=(one := list[str]()).append)
    assert any(text.startswith("installing 1 package (1 MB)") for text in one)
    texts = [re.sub(r" \(\d+ s\)$", "", text) for text in said]
    assert list(dict.fromkeys(texts)) == [
        "choosing the versions of the packages",
        "installing the packages",
        "installing 2 packages (1 MB)",
        "checking and compiling the packages",
    ]


def test_progress_counts_one_download_and_several(
    index: PackageIndex, make_settings: MakeSettings, tmp_path: Path
) -> None:
    """A script in place of uv tells of downloads, as uv does of large ones, and then runs uv."""
    index.wheels = [wheel("alpha")]
    settings = make_settings()
    slow = tmp_path / "uv"
    lines = r"Downloading alpha (9.0MiB)\n Downloaded alpha\n Downloaded beta\n"
    slow.write_text(f"#!/bin/sh\nprintf '{lines}' >&2\nexec {Uv(settings).path} \"$@\"\n")
    slow.chmod(0o755)
    said: list[str] = []
    had(settings, "alpha", listener=said.append, uv=Uv(settings, str(slow)))
    texts = [re.sub(r" \(\d+ s\)$", "", text) for text in said]
    assert [text for text in dict.fromkeys(texts) if text.startswith("installing 1")] == [
        "installing 1 package (1 MB)",
        "installing 1 package (1 MB): downloading alpha (9.0MiB), 0 downloads done",
        "installing 1 package (1 MB): downloaded alpha, 1 download done",
        "installing 1 package (1 MB): downloaded beta, 2 downloads done",
    ]
