"""The next children of a module are told what the first one told, as long as there is room for it."""

from pool.fakes import key_of
from toolrack_runner.pool.known_modules import KnownModules
from toolrack_runner.wire.child_messages import Known

A, B, C = key_of("a"), key_of("b"), key_of("c")


def test_nothing_is_known_before_both_the_code_and_the_places_were_told() -> None:
    known = KnownModules()
    known.learn_places(A, {"a:x": 0})  # Of a module whose code was too large, or has made room.
    assert known.find(A) is None
    known.learn_code(A, "code")
    assert known.find(A) is None
    known.learn_places(A, {"a:x": 1})
    assert known.find(A) == Known("code", {"a:x": 1})
    assert known.find(B) is None
    known.learn_code(A, None)
    assert known.find(A) is None


def test_of_too_much_code_what_was_asked_for_longest_ago_goes() -> None:
    known = KnownModules(code_bytes_max=10)
    for key in (A, B):
        known.learn_code(key, "12345")
        known.learn_places(key, {})
    assert known.find(A) is not None
    known.learn_code(C, "1")
    known.learn_places(C, {})
    assert [known.find(key) is not None for key in (A, B, C)] == [True, False, True]
    known.forget(A)
    known.learn_code(B, "123456789")
    known.learn_places(B, {})
    assert [known.find(key) is not None for key in (A, B, C)] == [False, True, True]


def test_of_too_many_modules_too() -> None:
    known = KnownModules(modules_max=1)
    for key in (A, B):
        known.learn_code(key, "")
        known.learn_places(key, {})
    assert [known.find(key) is not None for key in (A, B)] == [False, True]


def test_of_too_much_code_the_user_with_the_most_makes_room() -> None:
    known = KnownModules(code_bytes_max=10)
    other = key_of("a", "other")
    for key in (other, A, B, C):
        known.learn_code(key, "123")
        known.learn_places(key, {})
    assert [known.find(key) is None for key in (other, A, B, C)] == [False, True, False, False]
