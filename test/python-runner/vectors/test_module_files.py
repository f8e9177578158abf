"""Which files a module of several may have, and its digest."""

import pytest

from toolrack_runner.file_paths import digest_of, files_fault
from vectors.cases import Case, cases


@pytest.mark.parametrize("case", cases("module-files"), ids=lambda case: case.title)
def test_a_set_of_files_is_taken_or_refused_with_its_kind(case: Case) -> None:
    found = files_fault("weather", case.given)
    assert (found.kind if found else "ok") == case.expected
    assert found is None or found.message.startswith("weather/")
    assert found is None or found.message.endswith(".")


@pytest.mark.parametrize("case", cases("module-files", "digests"), ids=lambda case: case.title)
def test_the_digest_of_files_is_that_of_their_list(case: Case) -> None:
    assert digest_of({path: text.encode() for path, text in case.given.items()}) == case.expected
