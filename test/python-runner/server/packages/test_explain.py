"""The words of uv become a sentence that shows nothing of the operator."""

from pathlib import Path

import pytest

from toolrack_runner.server.package_settings import PackageSettings
from toolrack_runner.server.packages.explain import EXPLANATION_MAX, explained
from toolrack_runner.server.packages.hidden import Hidden
from toolrack_runner.server.packages.program import Ended
from toolrack_runner.server.packages.refusal import (
    DiskFullError,
    PackagesRefusedError,
    PackagesUnavailableError,
)

NOTHING = Hidden(PackageSettings(is_on=True, folder=Path("/srv/packages")))
#: Settings with texts at which a pattern for paths or addresses ends.
ODD = Hidden(
    PackageSettings(
        is_on=True,
        folder=Path("/srv/team s3cret/of `all`/packages"),
        wheels=Path("/mnt/my s3cret wheels"),
        index="https://operator:p)s3cret%60`x@host-s3cret.example/a)s3cret%20b/simple/",
    )
)


@pytest.mark.parametrize(
    "text",
    [
        "cannot open /srv/team s3cret/of `all`/packages/cache: denied",
        "cannot open /srv/team s3cret/other: denied",
        "cannot read file:///mnt/my%20s3cret%20wheels/a.whl",
        "cannot read `/mnt/my s3cret wheels/a.whl`",
        "at https://operator:p)s3cret%60`x@host-s3cret.example/a)s3cret%20b/simple/alpha/",
        "at https://operator:p)s3cret%60%60x@host-s3cret.example/a)s3cret%20b/simple/alpha/",
        "at https://operator:****@host-s3cret.example/a)s3cret%20b/simple/alpha/",
        "at https://host-s3cret.example/a)s3cret%20b/simple/alpha/",
        "at https://host-s3cret.example/a)s3cret b/simple/alpha/",
        "the password p)s3cret``x is wrong",
        "the password p%29s3cret%60%60x is wrong",
    ],
)
def test_a_path_with_a_space_and_a_password_with_a_bracket_are_hidden(text: str) -> None:
    said = f"{explained(Ended(1, f'error: strange: {text}'), ODD)}"
    assert "s3cret" not in said
    assert "strange" in said


@pytest.mark.parametrize(
    "text",
    [
        "error: No solution found\n  cause: a depends on b at https://user:s3cret@host.example/x and",
        "error: strange\n  cause: `http://s3cret.example`",
        "error: strange: cannot open /srv/s3cret/cache: denied",
        "error: Failed to extract archive: file:///srv/s3cret/a.whl",
    ],
)
def test_no_address_and_no_path_is_shown(text: str) -> None:
    said = f"{explained(Ended(1, text), NOTHING)}"
    assert "s3cret" not in said
    assert "the index" in said or "a path of the runner" in said


def test_a_long_explanation_is_cut() -> None:
    text = "error: No solution found\n  cause: " + "a depends on b and\n" * 10_000
    assert len(f"{explained(Ended(1, text), NOTHING)}") < EXPLANATION_MAX + 200


@pytest.mark.parametrize(
    ("ended", "kind"),
    [
        (Ended(2, "error: x\n  cause: No space left on device (os error 28)"), DiskFullError),
        (Ended(2, "error: x\n  cause: failed to write to file `/a/b`: Quota (os error 122)"), DiskFullError),
        (Ended(2, "error: No space left on device (os error 28) at path `/a`"), DiskFullError),
        (Ended(2, "error: x\n  cause: File too large (os error 27)"), PackagesRefusedError),
        (Ended(2, "error: Request failed after 3 retries"), PackagesUnavailableError),
        (Ended(1, "error: x\n  cause: HTTP status server error (502 Bad Gateway)"), PackagesUnavailableError),
        (Ended(-9, ""), PackagesUnavailableError),
        (Ended(101, "thread 'main' panicked"), PackagesUnavailableError),
        (Ended(-6, "Resource temporarily unavailable"), PackagesUnavailableError),
        (Ended(-6, "memory allocation of 1 bytes failed"), PackagesRefusedError),
        (Ended(-11, ""), PackagesRefusedError),
    ],
)
def test_a_failure_of_the_index_or_the_disk_may_be_tried_again(ended: Ended, kind: type[Exception]) -> None:
    assert type(explained(ended, NOTHING)) is kind


#: Signs of other failures, as a publisher can write them into names of files and of packages.
FORGED = (
    *(
        "No space left on device (os error 28)",
        "Disk quota exceeded (os error 122)",
        "File too large (os error 27)",
    ),
    *(
        "Hash mismatch",
        "HTTP status client error (401 ",
        "valid authentication credentials",
        "operation timed out",
    ),
    *("Failed to fetch", "`--find-links`", "URL dependencies must be", "No solution found"),
)


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize(
    "text",
    [
        "error: Failed to download `a==1`\n  cause: Failed to extract archive: a.whl\n  cause: Bad name: a%s",
        "error: Failed to download `a==1`\n  cause: Failed to extract archive: a.whl\n  cause: Bad: a\u2028  cause: %s",
        "error: Failed to install: a.whl\n  cause: failed to open file `a`: %s`: Is a directory (os error 21)",
        "error: Failed to install: a.whl\n  cause: The wheel is invalid: b\n         cause: %s\n         error: %s",
        "error: Failed to install: a.whl\n\nhint: Metadata could not be parsed:\n  cause: %s\n  hint: %s",
    ],
)  # fmt: skip
def test_a_text_of_a_package_is_no_sign_of_another_failure(text: str, forged: str) -> None:
    refused = explained(Ended(1, text.replace("%s", forged)), NOTHING, has_index=False)
    assert isinstance(refused, PackagesRefusedError)
    assert refused.kind == "packages_unsafe"
    assert f"{refused}".startswith("a wheel is broken")


def test_a_file_that_the_index_lists_and_does_not_serve_is_not_blamed_on_credentials() -> None:
    text = "error: Failed to fetch: http://a/b.whl\n  cause: HTTP status client error (404 Not Found) for url (http://a/b.whl)"
    said = explained(Ended(1, text), NOTHING)
    assert isinstance(said, PackagesUnavailableError)
    assert "lists a file that it does not serve" in f"{said}"
    denied = explained(Ended(1, text.replace("404 Not Found", "403 Forbidden")), NOTHING)
    assert "checks the credentials" in f"{denied}"


def test_a_record_that_is_no_table_is_a_fault_of_the_wheel() -> None:
    text = "error: Failed to download `a==1`\n  cause: `RECORD` file is invalid\n  cause: CSV error: record 6"
    refused = explained(Ended(1, text), NOTHING)
    assert isinstance(refused, PackagesRefusedError)
    assert refused.kind == "packages_unsafe"
