"""What pytest prints of a test can be given back to `npm test`."""

import pytest


def test_a_test_is_named_by_its_path_from_the_checkout(request: pytest.FixtureRequest) -> None:
    path, _, _ = request.node.nodeid.partition("::")
    assert path == "test/python-runner/test_printed_paths.py", "run npm test, or pytest with --rootdir=."
