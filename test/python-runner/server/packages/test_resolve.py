"""The versions of a module's packages are chosen by uv, from an index on this machine."""

import io
import itertools
import re
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from packaging import tags as tags_of_packaging

from server.packages.modules import MakeSettings, had
from support.package_index import PackageIndex
from support.wheels import ELSEWHERE, Wheel, source_release, wheel
from toolrack_runner.server.packages import pylock
from toolrack_runner.server.packages.lock import lock_digest
from toolrack_runner.server.packages.refusal import PackagesRefusedError, PackagesUnavailableError
from toolrack_runner.server.packages.resolve import PYTHON


def test_the_lock_has_each_package_with_its_wheel_and_hash(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [
        wheel("Alpha", "1.0"),
        wheel("Alpha", "2.0", requires=("beta_two>=1",)),
        wheel("beta.two", "1.5"),
    ]
    lock = had(make_settings(), "alpha>=1").lock
    assert lock.requirements == ("alpha>=1",)
    assert [(each.name, each.version, each.file, each.sha256, each.bytes) for each in lock.packages] == [
        ("alpha", "2.0", index.wheels[1].file, index.wheels[1].sha256, len(index.wheels[1].content)),
        ("beta-two", "1.5", index.wheels[2].file, index.wheels[2].sha256, len(index.wheels[2].content)),
    ]


def test_the_digest_is_the_same_whichever_index_serves(tmp_path: Path, make_settings: MakeSettings) -> None:
    wheels = [wheel("alpha", requires=("beta",)), wheel("beta")]
    folder = tmp_path / "wheels"
    folder.mkdir()
    for each in wheels:
        (folder / each.file).write_bytes(each.content)
    locks = [had(make_settings(folder=tmp_path / "packages/0", index=None, wheels=folder), "alpha").lock]
    for is_html in (False, True):
        with PackageIndex(*wheels, is_html=is_html).serving() as other:
            settings = make_settings(folder=tmp_path / f"packages/1{is_html}", index=other.url)
            locks.append(had(settings, "alpha").lock)
    assert {lock.digest for lock in locks} == {lock_digest(locks[0].packages)}
    assert [[each.bytes for each in lock.packages] for lock in locks] == [
        [len(each.content) for each in wheels],
        [len(each.content) for each in wheels],
        [None, None],
    ]


@pytest.mark.parametrize(
    ("dependencies", "kind", "sentence"),
    [
        (["absent"], "packages_missing", "absent was not found"),
        (["alpha>9"], "packages_missing", "there is no version of a package that fits"),
        (["alpha", "beta==2.0"], "packages_conflict", "the packages cannot be used together"),
        (["sources"], "packages_no_wheel", "sources"),
        (["windows"], "packages_no_wheel", "windows"),
        (["gone"], "packages_yanked", "withdrawn"),
        (["gone==1.0"], "packages_yanked", "the publisher of gone==1.0 has withdrawn"),
    ],
)
def test_packages_that_cannot_be_had_are_refused_with_the_reason(
    index: PackageIndex, make_settings: MakeSettings, dependencies: list[str], kind: str, sentence: str
) -> None:
    index.wheels = [
        *(wheel("alpha", requires=("beta<2",)), wheel("beta", "1.0"), wheel("beta", "2.0")),
        *(source_release("sources"), wheel("windows", tag=ELSEWHERE), wheel("gone")),
    ]
    index.yanked = {index.wheels[-1].file}
    with pytest.raises(PackagesRefusedError, match=re.escape(sentence)) as refused:
        had(make_settings(), *dependencies)
    assert refused.value.kind == kind
    assert index.downloads == [] or kind in {"packages_conflict", "packages_yanked"}


@pytest.mark.parametrize(
    ("dependency", "sentence"),
    [
        (
            "yaml",
            "was not found in the index. 'yaml' is the name of an import; its package is pyyaml. Write \"pyyaml\" in",
        ),
        (
            "PIL>=9",
            "the package pil was not found in the index. 'PIL' is the name of an import; its package is pillow.",
        ),
        ("cv2", "its package is opencv-python-headless"),
        (
            "sklearn",
            "the package sklearn has no wheel for the runner, and nothing is built here. 'sklearn' is the name",
        ),
        ("pandsa", "the package pandsa was not found in the index. Did you mean 'pandas'?"),
        ("sklaern", "Did you mean 'scikit-learn'?"),
        ("zzyx", "the package zzyx was not found in the index. Check its name."),
        (
            "alpha",
            "the package pandsa, which another package needs, was not found in the index. Ask for another",
        ),
    ],
)
def test_a_name_that_no_package_has_comes_with_the_one_that_was_probably_meant(
    index: PackageIndex, make_settings: MakeSettings, dependency: str, sentence: str
) -> None:
    index.wheels = [source_release("sklearn"), wheel("alpha", requires=("pandsa",))]
    with pytest.raises(PackagesRefusedError, match=re.escape(sentence)):
        had(make_settings(), dependency)


def test_without_an_index_the_folder_of_wheels_is_named(
    index: PackageIndex, tmp_path: Path, make_settings: MakeSettings
) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    windows = wheel("windows", tag=ELSEWHERE)
    (folder / windows.file).write_bytes(windows.content)
    settings = make_settings(index=None, wheels=folder)
    start = f"the folder of wheels (TOOLRACK_PACKAGES_WHEELS) has no wheel of NAME for Python {PYTHON}. "
    for name, cure in (
        ("absent", "Ask the operator to add it"),
        ("windows", "Ask the operator to add it"),
        ("yaml", "'yaml' is the name of an import; its package is pyyaml."),
    ):
        with pytest.raises(
            PackagesRefusedError, match=re.escape(start.replace("NAME", name) + cure)
        ) as refused:
            had(settings, name)
        assert "index" not in f"{refused.value}"
        assert f"{tmp_path}" not in f"{refused.value}"
    (folder / windows.file).unlink()
    folder.rmdir()
    with pytest.raises(PackagesUnavailableError, match=r"operator checks TOOLRACK_PACKAGES_WHEELS") as gone:
        had(settings, "absent")
    assert "index" not in f"{gone.value}"
    assert index.connections == 0


def test_no_address_and_no_password_is_in_a_refusal(tmp_path: Path, make_settings: MakeSettings) -> None:
    with PackageIndex(wheel("alpha"), password="s3cret").serving() as other:
        settings = make_settings(index=other.url)
        with pytest.raises(PackagesRefusedError) as refused:
            had(settings, "absent")
        assert had(settings, "alpha").lock.packages[0].name == "alpha"
    with pytest.raises(PackagesUnavailableError) as away:
        had(settings, "other")
    with PackageIndex(password="other").serving() as other, pytest.raises(PackagesUnavailableError) as denied:
        had(make_settings(index=other.url.replace("operator:other@", "")), "alpha")
    for said in (f"{refused.value}", f"{away.value}", f"{denied.value}"):
        assert not re.search(r"s3cret|operator:|127\.0\.0\.1|://", said), said
        assert str(tmp_path) not in said
    assert "cannot be reached" in f"{away.value}"
    assert "TOOLRACK_PACKAGES_INDEX" in f"{denied.value}"


def test_a_version_that_the_operator_has_installed_is_preferred(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    from importlib.metadata import version

    installed = version("starlette")
    index.wheels = [wheel("starlette", installed), wheel("starlette", "99.0")]
    assert had(make_settings(), "starlette").lock.packages[0].version == installed
    assert had(make_settings(), "starlette>=99").lock.packages[0].version == "99.0"


def test_a_requirement_whose_marker_does_not_hold_is_not_installed(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha")]
    result = had(make_settings(), "alpha", "absent ; python_version < '3'")
    assert result.lock.requirements == ('absent ; python_version < "3"', "alpha")
    assert result.environment.versions == {"alpha": "1.0"}


def test_a_kept_lock_is_used_without_asking_the_index_for_newer_versions(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    index.wheels = [wheel("alpha", "1.0")]
    kept = had(make_settings(), "alpha").lock
    index.wheels.append(wheel("alpha", "2.0"))
    assert had(make_settings(), "alpha", kept=kept).lock == kept
    assert had(make_settings(), "alpha>=1", kept=kept).lock.packages[0].version == "2.0"


def test_a_release_with_very_many_wheels_is_refused(index: PackageIndex, make_settings: MakeSettings) -> None:
    alpha = wheel("alpha")
    index.wheels = [
        alpha._replace(file=f"alpha-1.0-{n}-py3-none-any.whl") for n in range(1, pylock.WHEELS_MAX + 2)
    ]
    with pytest.raises(
        PackagesRefusedError, match=f"alpha 1.0 has {pylock.WHEELS_MAX + 1} wheels"
    ) as refused:
        had(make_settings(), "alpha")
    assert refused.value.kind == "packages_too_large"
    index.wheels.pop()
    assert had(make_settings(), "alpha").lock.packages[0].file in {each.file for each in index.wheels}


def test_the_answer_of_uv_is_read_outside_the_loop_and_the_tags_are_made_once(
    index: PackageIndex, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.wheels = [wheel("alpha")]
    index.wheels += [index.wheels[0]._replace(file=f"alpha-1.0-{n}-py3-none-any.whl") for n in range(1, 9)]
    threads: list[threading.Thread] = []

    def tags() -> Iterator[tags_of_packaging.Tag]:
        threads.append(threading.current_thread())
        return tags_of_packaging.sys_tags()

    pylock._ranks.cache_clear()
    monkeypatch.setattr(pylock, "sys_tags", tags)
    had(make_settings(), "alpha")
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()


def with_metadata(made: Wheel, more: Iterable[bytes]) -> Wheel:
    """The wheel with more lines in its METADATA. They are made one after the other, because they may be very long."""
    content = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(made.content)) as reading,
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as writing,
    ):
        for name in reading.namelist():
            with writing.open(name, "w") as entry:
                entry.write(reading.read(name))
                if name.endswith("/METADATA"):
                    for each in more:
                        entry.write(each)
    return made._replace(content=content.getvalue())


def nested_marker() -> bytes:
    depth = 50_000
    return b"Requires-Dist: beta ; " + b"(" * depth + b'python_version > "3"' + b")" * depth + b"\n"


@pytest.mark.parametrize(
    ("make", "asked", "kind", "sentence"),
    [
        (
            lambda: with_metadata(wheel("alpha"), [b"\n", *itertools.repeat(b"A" * (1 << 20), 600)]),
            "alpha",
            "packages_too_large",
            "cannot read the metadata",
        ),
        (
            lambda: with_metadata(wheel("alpha"), [nested_marker()]),
            "alpha",
            "packages_too_large",
            "cannot read",
        ),
        (lambda: wheel("alpha"), "alpha==9999999999999999999999", "packages_missing", "cannot exist"),
        (
            lambda: wheel("alpha", requires=("evil @ http://evil.example/evil-1.0-py3-none-any.whl",)),
            "alpha",
            "packages_unsafe",
            "from an address",
        ),
    ],
    ids=["large metadata", "deep marker", "large version", "an address"],
)
def test_a_package_that_uv_cannot_use_is_no_failure_of_the_runner(
    index: PackageIndex,
    make_settings: MakeSettings,
    make: Callable[[], Wheel],
    asked: str,
    kind: str,
    sentence: str,
) -> None:
    index.wheels = [make()]
    with pytest.raises(PackagesRefusedError, match=sentence) as refused:
        had(make_settings(), asked)
    assert refused.value.kind == kind
    assert "evil.example" not in f"{refused.value}"
