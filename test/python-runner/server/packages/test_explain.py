"""The words of uv become a sentence that shows nothing of the operator."""

import pytest

from toolrack_runner.server.packages.explain import EXPLANATION_MAX, explained
from toolrack_runner.server.packages.program import Ended
from toolrack_runner.server.packages.refusal import (
    DiskFullError,
    PackagesRefusedError,
    PackagesUnavailableError,
)


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
    said = f"{explained(Ended(1, text))}"
    assert "s3cret" not in said
    assert "the index" in said or "a path of the runner" in said


def test_a_long_explanation_is_cut() -> None:
    text = "error: No solution found\n  cause: " + "a depends on b and\n" * 10_000
    assert len(f"{explained(Ended(1, text))}") < EXPLANATION_MAX + 200


@pytest.mark.parametrize(
    ("ended", "kind"),
    [
        (Ended(2, "cause: No space left on device (os error 28)"), DiskFullError),
        (Ended(2, "cause: File too large (os error 27)"), PackagesRefusedError),
        (Ended(2, "error: Request failed after 3 retries"), PackagesUnavailableError),
        (Ended(1, "cause: HTTP status server error (502 Bad Gateway)"), PackagesUnavailableError),
        (Ended(-9, ""), PackagesUnavailableError),
        (Ended(101, "thread 'main' panicked"), PackagesUnavailableError),
    ],
)
def test_a_failure_of_the_index_or_the_disk_may_be_tried_again(ended: Ended, kind: type[Exception]) -> None:
    assert type(explained(ended)) is kind
