"""The head of a module is read by us, and nothing of it reaches an index or uv but names and ranges."""

import platform
from pathlib import Path

import pytest

from server.packages.modules import MakeSettings, had, source_with
from support.package_index import PackageIndex
from support.wheels import wheel
from toolrack_runner.server.packages.head import HEAD_BYTES_MAX, REQUIREMENTS_MAX, read_head
from toolrack_runner.server.packages.requirement import read_requirement
from toolrack_runner.server.packages.uv import Uv
from toolrack_runner.wire.fault import ModuleError

MAJOR, MINOR, _ = platform.python_version_tuple()
LATER = f"{MAJOR}.{int(MINOR) + 1}"


def block(*lines: str) -> bytes:
    """A source with a head of these lines."""
    return "\n".join(["# /// script", *(f"# {line}" for line in lines), "# ///", "import json", ""]).encode()


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("pandas", "pandas"),
        ("Foo.Bar_baz", "foo-bar-baz"),
        ("pandas (<3, >=2)", "pandas>=2,<3"),
        ("pandas>=2,>=2", "pandas>=2"),
        ("a[Z_z, b] ~= 1.0", "a[b,z-z]~=1.0"),
        ("a!=1.5,==1.*", "a==1.*,!=1.5"),
        ("a;python_version<'4'", 'a ; python_version < "4"'),
    ],
)
def test_a_requirement_has_one_canonical_text(written: str, canonical: str) -> None:
    read = read_requirement(written)
    assert (read.text, read_requirement(read.text).text) == (canonical, canonical)
    assert read.text.startswith(read.bare)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_head_of_each_kind_of_line_break_is_read(end: str) -> None:
    source = source_with("b", "a>=1", "B").decode().replace("\n", end)
    head = read_head("words", f"\ufeff'''Text.'''{end}{source}".encode())
    assert head is not None
    assert (head.texts, head.line) == (("a>=1", "b"), 3)


def test_only_the_main_file_of_a_module_has_a_head() -> None:
    files = {"__init__.py": b"", "helpers.py": source_with("a")}
    assert read_head("words", files) is None
    head = read_head("words", files | {"__init__.py": source_with("b")})
    assert head is not None
    assert (head.texts, head.where) == (("b",), "words/__init__.py")


@pytest.mark.parametrize(
    "source",
    [
        b"import json\n",
        b"# ///\n# /// pyproject\n# x = 1\n# ///\n",
        b"# /// script\n# dependencies = ['a']\n# ///\n\xff",
        b"x = 1 # /// script\n",
    ],
)
def test_a_source_without_a_head_or_with_a_fault_of_the_file_has_none(source: bytes) -> None:
    assert read_head("words", source) is None


def test_a_head_may_configure_other_programs() -> None:
    head = read_head("words", block("dependencies = ['a']", "[tool.ruff]", "line-length = 100"))
    assert head is not None
    assert head.texts == ("a",)


#: Heads that must be faults, with their kind, their line and a part of the sentence.
HOSTILE = {
    "tool-uv": (block("[tool.uv]", "index-url = 'URL'"), "head_invalid", 2, "[tool.uv] has no effect here"),
    "tool-uv-dotted": (block("tool.uv.index-url = 'URL'"), "head_invalid", 2, "[tool.uv]"),
    "tool-no-table": (block("tool = 1"), "head_invalid", 2, "[tool.uv]"),
    "sources": (block("[[tool.uv.index]]", "url = 'URL'"), "head_invalid", 2, "[tool.uv]"),
    "unknown": (block("dependancies = ['a']"), "head_invalid", 2, "Did you mean 'dependencies'?"),
    "git": (block("dependencies = ['a @ git+URLx.git']"), "requirement_invalid", 2, "it names a place"),
    "url": (block("dependencies = ['a @ URLa.whl']"), "requirement_invalid", 2, "it names a place"),
    "bare-url": (block("dependencies = ['URLa.whl']"), "requirement_invalid", 2, "it names a place"),
    "file": (block("dependencies = ['file:///etc/passwd']"), "requirement_invalid", 2, "it names a place"),
    "path": (block("dependencies = ['./a']"), "requirement_invalid", 2, "it names a place"),
    "windows": (block(r"dependencies = ['..\\a']"), "requirement_invalid", 2, "it names a place"),
    "option": (block("dependencies = ['--index-url URL']"), "requirement_invalid", 2, "it names a place"),
    "short": (block("dependencies = ['-r x']"), "requirement_invalid", 2, "it is no requirement"),
    "break": (block(r'dependencies = ["a\n--index-url URL"]'), "requirement_invalid", 2, "it names a place"),
    "break2": (block(r'dependencies = ["a\n-e b"]'), "requirement_invalid", 2, "a character that no"),
    "marker": (
        block(r"""dependencies = ["a ; python_version < '4\n-e b'"]"""),
        *("requirement_invalid", 2, "a character that no"),
    ),
    "comment": (block("dependencies = ['a # b']"), "requirement_invalid", 2, "a character that no"),
    "variable": (block("dependencies = ['a==${HOME}']"), "requirement_invalid", 2, "a character that no"),
    "text": (block("dependencies = ['a===1']"), "requirement_invalid", 2, "Write =="),
    "compare": (block("dependencies = ['a; extra ~= x']"), "requirement_invalid", 2, "it is no requirement"),
    "long": (block(f"dependencies = ['{'a' * 300}']"), "requirement_invalid", 2, "more than 256 characters"),
    "many": (
        block(f"dependencies = {[f'a{n}' for n in range(51)]}"),
        "requirement_invalid",
        2,
        "more than 50",
    ),
    "no-list": (block("dependencies = 'a'"), "requirement_invalid", 2, "a list of texts"),
    "no-texts": (block("", "dependencies = ['a', 1]"), "requirement_invalid", 3, "a list of texts"),
    "python": (
        block(f"requires-python = '>={LATER}'"),
        "python_unsupported",
        2,
        f"Python >={LATER}, and the runner has Python {MAJOR}.{MINOR}",
    ),
    "python-bad": (block("requires-python = 'new'"), "head_invalid", 2, "no condition of a version"),
    "toml": (block("dependencies = ["), "head_invalid", 1, "the head is no TOML"),
    "toml-line": (block("", "a b"), "head_invalid", 3, "the head is no TOML"),
    "unquoted": (
        block("dependencies = [humanize]"),
        *("head_invalid", 2, 'Texts need quotes: dependencies = ["humanize"].'),
    ),
    "unquoted-later": (
        block("dependencies = [", "  'a',", "  humanize>=4,", "]"),
        *("head_invalid", 4, 'Texts need quotes: dependencies = ["humanize>=4"].'),
    ),
    "unquoted-python": (
        block("requires-python = >=3.11"),
        *("head_invalid", 2, 'Texts need quotes: requires-python = ">=3.11".'),
    ),
    "no-value": (block("dependencies = ]"), "head_invalid", 2, "Invalid value. Correct the line."),
    "not-closed": (b"# /// script\n# x = 1\nimport json\n", "head_invalid", 1, "not closed"),
    "not-a-comment": (b"# /// script\n#x = 1\n# ///\n", "head_invalid", 2, "'# ' and its text"),
    "two": (block() + block(), "head_invalid", 4, "a second"),
    "nearly": (b"#/// script\n# ///\n", "head_invalid", 1, "exactly '# /// script'"),
    "huge": (block(*["# " + "x" * 80] * 100), "head_invalid", 1, f"more than {HEAD_BYTES_MAX} bytes"),
    "dotted": (block("a" + ".a" * 300 + " = 1"), "head_invalid", 2, "more than 256 dots"),
    "nested": (block("x = " + "[" * 4_000), "head_invalid", 1, "nested too deeply"),
    "inline": (block("x = " + "{a=" * 2_000), "head_invalid", 1, "nested too deeply"),
    "number": (block("x = " + "9" * 8_000), "head_invalid", 1, "the head is no TOML"),
    "parentheses": (
        block(f"dependencies = ['a ; {'(' * 240}']"),
        *("requirement_invalid", 2, "it is no requirement"),
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_head_is_a_fault_with_its_line_and_nobody_is_asked(case: str, index: PackageIndex) -> None:
    source, kind, line, sentence = HOSTILE[case]
    with pytest.raises(ModuleError) as error:
        read_head("words", source.replace(b"URL", index.url.encode()))
    fault = error.value.fault
    assert (fault.kind, fault.line) == (kind, line)
    assert sentence in fault.message
    assert fault.message.startswith(f"words.py, line {line}: ")
    assert fault.message.isprintable()
    assert index.connections == 0


def test_as_many_requirements_as_allowed_fit_into_a_head() -> None:
    head = read_head(
        "words", source_with(*(f"a-name-of-usual-length-{n}>=1.20,<3" for n in range(REQUIREMENTS_MAX)))
    )
    assert head is not None
    assert len(head.texts) == REQUIREMENTS_MAX


def test_uv_gets_names_and_ranges_only(
    index: PackageIndex, make_settings: MakeSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script in place of uv writes down its arguments, its variables and its input, and then runs uv."""
    index.wheels = [wheel("alpha")]
    index.password = "s3cret"
    settings = make_settings(index=index.url)
    said = tmp_path / "said"
    said.mkdir()
    spy = tmp_path / "uv"
    spy.write_text(
        "#!/bin/sh\n"
        f'n=$(ls {said} | wc -l)\nfor each in "$@"; do echo "$each"; done > {said}/$n.arguments\nenv > {said}/$n.variables\n'
        f'for each in "$@"; do case "$each" in *.in|*.txt) cat "$each" > {said}/$n.input;; esac; done\n'
        f'exec {Uv(settings).path} "$@"\n'
    )
    spy.chmod(0o755)
    monkeypatch.setenv("SECRET_OF_THE_RUNNER", "x")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    lock = had(settings, 'Alpha>=1 ; python_version > "3"', uv=Uv(settings, str(spy))).lock
    inputs = sorted(path.read_text() for path in said.glob("*.input"))
    assert set(inputs) == {"alpha>=1\n", f"alpha==1.0 --hash=sha256:{lock.packages[0].sha256}\n"}
    for path in said.glob("*.arguments"):
        words = path.read_text().splitlines()
        assert not [word for word in words if "://" in word or "s3cret" in word or "python_version" in word]
    known = {
        "HOME",
        "LANG",
        "PATH",
        "PWD",
        "TMPDIR",
        "UV_CACHE_DIR",
        "UV_CONCURRENT_DOWNLOADS",
        "UV_CONCURRENT_INSTALLS",
        "UV_DEFAULT_INDEX",
        "UV_HTTP_RETRIES",
        "UV_HTTP_TIMEOUT",
    }
    proxies = {"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY"}
    of_network = {"SSL_CERT_FILE", "SSL_CERT_DIR", *proxies, *map(str.lower, proxies)}
    for path in said.glob("*.variables"):
        names = {line.partition("=")[0] for line in path.read_text().splitlines()}
        assert names - {"_", "SHLVL", "OLDPWD"} <= known | of_network
        assert "no_proxy" in names


def test_where_packages_are_off_the_refusal_says_who_can_turn_them_on(
    index: PackageIndex, make_settings: MakeSettings
) -> None:
    with pytest.raises(Exception, match=r"The operator turns them on with TOOLRACK_PACKAGES=on") as refused:
        had(make_settings(is_on=False), "alpha")
    assert getattr(refused.value, "kind", None) == "packages_off"
    assert index.connections == 0


@pytest.mark.parametrize(
    ("policy", "sentence", "connections"),
    [
        ({"deny": ("al*",)}, "alpha is denied here", 0),
        ({"allow": ("beta",)}, "alpha is not allowed here", 0),
        ({"allow": ("*",), "deny": ("beta",)}, "beta is denied here", 1),
        ({"allow": ("alpha",)}, "beta is not allowed here", 1),
    ],
)
def test_the_policy_holds_for_named_packages_and_for_those_that_they_need(
    index: PackageIndex,
    make_settings: MakeSettings,
    policy: dict[str, tuple[str, ...]],
    sentence: str,
    connections: int,
) -> None:
    index.wheels = [wheel("Alpha", requires=("beta",)), wheel("Beta")]
    with pytest.raises(Exception, match=sentence) as refused:
        had(make_settings(**policy), "Alpha")
    assert getattr(refused.value, "kind", None) == "packages_denied"
    assert min(index.connections, 1) == connections
    assert not (make_settings().folder / "environments").exists() or not any(
        (make_settings().folder / "environments").iterdir()
    )
