"""The next children of a module get what the first one sent, if there is room to keep it."""

from server.pool.fakes import FakeChild, key_of
from toolrack_runner.server.pool.warm_queue import Key, WarmQueues
from toolrack_runner.wire.child_messages import Known

A, B, C = key_of("a"), key_of("b"), key_of("c")


def told(queues: "WarmQueues[FakeChild]", key: Key, code: str) -> None:
    """Notes what a child sends about its module."""
    queue = queues.called(key, "")
    queues.learn_code(queue, code)
    queue.learn_places({})


def known(queues: "WarmQueues[FakeChild]", *keys: Key) -> list[bool]:
    """The keys whose next child gets the compiled module."""
    return [(queue := queues.find(key)) is not None and queue.known is not None for key in keys]


def test_nothing_is_known_before_both_the_code_and_the_places_were_told() -> None:
    queues = WarmQueues[FakeChild](0)
    queue, other = queues.called(A, ""), queues.called(B, "")
    queue.learn_places({"a:x": 0})  # Of a module whose code was too large, or has made room.
    queues.learn_code(queue, "code")
    assert known(queues, A) == [False]
    queue.learn_places({"a:x": 1})
    assert queue.known == Known("code", {"a:x": 1})
    assert other.known is None
    queues.learn_code(queue, None)
    assert known(queues, A) == [False]


def test_of_too_much_code_what_was_asked_for_longest_ago_goes() -> None:
    queues = WarmQueues[FakeChild](0, code_bytes_max=10)
    for key in (A, B):
        told(queues, key, "12345")
    queues.called(A, "")
    told(queues, C, "1")
    assert known(queues, A, B, C) == [True, False, True]
    queues.drop(A)
    told(queues, B, "123456789")
    assert known(queues, A, B, C) == [False, True, True]


def test_of_too_many_modules_too() -> None:
    queues = WarmQueues[FakeChild](0, modules_max=1)
    for key in (A, B):
        told(queues, key, "")
    assert known(queues, A, B) == [False, True]


def test_of_too_much_code_the_user_with_the_most_makes_room() -> None:
    queues = WarmQueues[FakeChild](0, code_bytes_max=10)
    other = key_of("a", "other")
    for key in (other, A, B, C):
        told(queues, key, "123")
    assert known(queues, other, A, B, C) == [True, False, True, True]
