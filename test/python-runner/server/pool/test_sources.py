"""Which sources an instance keeps, and whose go first."""

from toolrack_runner.server.http.runner import Sources


def test_who_sends_the_most_makes_room_and_nobody_else() -> None:
    sources = Sources(bytes_max=100)
    sources.keep("a", "a0", "x" * 10)
    for number in range(50):
        sources.keep("b", f"b{number}", "x" * 10)
    assert sources.find("a0") is not None
    assert [number for number in range(50) if sources.find(f"b{number}")] == list(range(41, 50))


def test_of_one_user_what_was_used_longest_ago_goes_first() -> None:
    sources = Sources(bytes_max=20)
    for digest in ("first", "second"):
        sources.keep("a", digest, "x" * 10)
    assert sources.find("first")
    sources.keep("a", "third", "x" * 10)
    assert [digest for digest in ("first", "second", "third") if sources.find(digest)] == ["first", "third"]


def test_a_source_that_two_users_send_is_held_and_counted_once_for_who_sent_it_first() -> None:
    sources = Sources(bytes_max=20)
    for user in ("a", "b"):
        sources.keep(user, "both", "x" * 10)
    sources.keep("b", "own", "x" * 10)
    assert sources.find("both")
    assert sources.find("own")


def test_one_that_is_larger_than_all_room_is_not_kept() -> None:
    sources = Sources(bytes_max=5)
    sources.keep("a", "large", "x" * 10)
    assert sources.find("large") is None


def test_all_files_of_a_module_and_their_paths_count() -> None:
    sources = Sources(bytes_max=30)
    sources.keep("a", "files", {"__init__.py": "x" * 8, "a.txt": "\N{EURO SIGN}\N{EURO SIGN}"})
    assert sources.find("files") == {"__init__.py": "x" * 8, "a.txt": "\N{EURO SIGN}\N{EURO SIGN}"}
    sources.keep("a", "one", "x")
    assert sources.find("files") is None
    assert sources.find("one") == "x"
