"""Page numbers come out of their text as they went in."""

import random

from toolrack_runner.page_ranges import RANGES_MAX, pages_text, read_ranges


def pages_in(text: str) -> list[int]:
    return [page for first, count in read_ranges(text) for page in range(first, first + count)]


def test_pages_of_any_distance_come_out_as_they_went_in() -> None:
    choose = random.Random(30)
    for _ in range(50):
        pages = {
            choose.randrange(1 << choose.choice((4, 12, 40, 52))) for _ in range(choose.randrange(1_000))
        }
        assert pages_in(pages_text(pages)) == sorted(pages)
    assert pages_in(pages_text(range(200_000))) == list(range(200_000))
    assert pages_text(()) == ""


def test_too_many_ranges_have_no_text() -> None:
    assert pages_text(range(0, 2 * RANGES_MAX, 2)) != ""
    assert pages_text(range(0, 2 * RANGES_MAX + 2, 2)) == ""
