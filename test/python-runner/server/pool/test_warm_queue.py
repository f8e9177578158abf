"""Children wait for their own key, the oldest is called first, and together they stay within their budget."""

from hypothesis import given
from hypothesis import strategies as st

from server.pool.fakes import FakeChild, key_of
from toolrack_runner.server.pool.warm_queue import (
    WAITING_BYTES_MIN,
    WAITING_MAX,
    WAITING_OF_ONE_MAX,
    Key,
    WarmQueues,
)

ROOM = 3 * WAITING_BYTES_MIN
A, B, C = key_of("a"), key_of("b"), key_of("c")
OTHER = key_of("a", "other")


def put(queues: "WarmQueues[FakeChild]", key: Key, number: int, bytes_used: int = 0) -> FakeChild:
    child = FakeChild(number)
    queues.put(queues.called(key, ""), child, bytes_used)
    return child


def test_who_has_waited_longest_is_taken_and_waits_no_more() -> None:
    queues = WarmQueues[FakeChild](ROOM)
    first, second = put(queues, A, 1), put(queues, A, 2)
    queue = queues.called(A, "")
    assert [queues.take(queue), queues.take(queue), queues.take(queue)] == [first, second, None]
    assert (queues.waiting, queues.bytes) == (0, 0)


def test_who_has_died_or_spoken_while_waiting_is_killed_and_the_next_is_taken() -> None:
    queues = WarmQueues[FakeChild](ROOM)
    dead, talker, good = put(queues, A, 1), put(queues, A, 2), put(queues, A, 3)
    dead.is_alive = False
    talker.has_said_more = True
    assert queues.take(queues.called(A, "")) is good
    assert (dead.done, talker.done, good.done) == (["killed"], ["killed"], [])
    assert queues.bytes == 0


def test_no_child_is_taken_for_another_key() -> None:
    queues = WarmQueues[FakeChild](ROOM)
    put(queues, A, 1)
    assert queues.take(queues.called(B, "")) is None
    assert queues.waiting == 1


def test_a_child_that_has_become_heavier_while_it_waits_makes_its_user_make_room() -> None:
    queues = WarmQueues[FakeChild](ROOM)
    grown, other = put(queues, A, 1), put(queues, OTHER, 2)
    assert queues.weighed_longest_ago(1) == [grown]
    queues.weigh(grown, WAITING_BYTES_MIN + 1)
    assert queues.weighed_longest_ago(9) == [other, grown]
    assert queues.bytes == 2 * WAITING_BYTES_MIN + 1
    queues.weigh(grown, ROOM)
    assert (grown.done, other.done, queues.bytes) == (["killed"], [], WAITING_BYTES_MIN)
    queues.weigh(grown, ROOM)  # It waits no more.
    assert queues.bytes == WAITING_BYTES_MIN


def test_the_queue_that_was_called_longest_ago_makes_room() -> None:
    queues = WarmQueues[FakeChild](ROOM)
    oldest, other = put(queues, A, 1), put(queues, B, 2)
    queues.called(A, "")  # Now B's was called longest ago.
    put(queues, C, 3, bytes_used=2 * WAITING_BYTES_MIN)
    assert (oldest.done, other.done) == ([], ["killed"])
    assert [queues.find(key) is None for key in (A, B, C)] == [False, True, False]
    assert queues.bytes == ROOM


def test_a_child_that_takes_more_than_there_is_room_for_does_not_wait() -> None:
    queues = WarmQueues[FakeChild](ROOM)
    large = put(queues, A, 1, bytes_used=ROOM + 1)
    assert large.done == ["killed"]
    assert (queues.waiting, queues.bytes) == (0, 0)


def test_a_child_that_is_reaped_while_it_waits_is_counted_no_more() -> None:
    queues = WarmQueues[FakeChild](ROOM)
    child = put(queues, A, 1)
    for _ in range(2):  # The second time it is nowhere.
        queues.remove(child)
        assert (queues.waiting, queues.bytes) == (0, 0)
    assert queues.find(A) is not None


def test_of_too_many_modules_the_one_called_longest_ago_is_forgotten() -> None:
    queues = WarmQueues[FakeChild](ROOM, modules_max=2)
    child = put(queues, A, 1)
    queues.called(B, "")
    queues.called(C, "")
    assert queues.find(A) is None
    assert child.done == ["killed"]


def test_one_user_with_many_modules_makes_room_for_a_user_with_few() -> None:
    queues = WarmQueues[FakeChild](4 * WAITING_BYTES_MIN)
    honest = put(queues, OTHER, 0)  # Called longest ago.
    greedy = [put(queues, key_of(f"m{number}"), number) for number in range(1, 9)]
    assert honest.done == []
    assert [child.done for child in greedy] == [["killed"]] * 5 + [[]] * 3
    second = put(queues, OTHER, 9)
    assert (honest.done, second.done, greedy[5].done) == ([], [], ["killed"])
    # Now each has half, and a further child of the one is that one's own to make room for.
    put(queues, OTHER, 10)
    assert [child.done for child in greedy[6:]] == [[], []]


def test_of_too_many_modules_the_user_with_the_most_forgets_one() -> None:
    queues = WarmQueues[FakeChild](ROOM, modules_max=3)
    queues.called(OTHER, "")
    for key in (A, B, C):
        queues.called(key, "")
    assert [queues.find(key) is None for key in (OTHER, A, B, C)] == [False, True, False, False]


def test_however_much_memory_there_is_waiting_children_leave_slots_for_calls() -> None:
    queues = WarmQueues[FakeChild](WAITING_MAX * WAITING_BYTES_MIN * 2)
    for number in range(WAITING_MAX + 1):
        put(queues, key_of(f"m{number}"), number)
    assert queues.waiting == WAITING_MAX


def test_a_source_that_is_forgotten_has_nobody_waiting_for_that_user_or_for_all() -> None:
    queues = WarmQueues[FakeChild](ROOM)

    def dropped() -> list[Key]:
        return [key for key in (A, B, OTHER) if queues.find(key) is None]

    mine, other, others = put(queues, A, 1), put(queues, B, 2), put(queues, OTHER, 3)
    queues.drop_of("a", "1" * 64, None)
    queues.drop_of("a", A.sha256, "nobody")
    assert dropped() == []
    queues.drop_of("a", A.sha256, A.tenant)
    assert (mine.done, other.done, others.done, dropped()) == (["killed"], [], [], [A])
    put(queues, A, 4)
    queues.drop_of("a", A.sha256, None)
    assert (queues.waiting, dropped()) == (1, [A, OTHER])


def test_who_is_not_called_for_long_waits_no_more() -> None:
    queues = WarmQueues[FakeChild](ROOM)
    first, second = FakeChild(1), FakeChild(2)
    queues.put(queues.called(A, "", 10.0), first, 0)
    queues.put(queues.called(B, "", 20.0), second, 0)
    queues.drop_not_called_since(10.0)
    assert queues.find(A) is not None
    queues.called(A, "", 30.0)
    queues.drop_not_called_since(25.0)
    assert (first.done, second.done) == ([], ["killed"])
    assert (queues.find(A) is not None, queues.find(B)) == (True, None)


def test_only_those_that_are_meant_are_discarded_and_their_queue_stays() -> None:
    queues = WarmQueues[FakeChild](ROOM)
    one, other = put(queues, A, 1), put(queues, A, 2)
    queues.discard(lambda child: child is one)
    assert (one.done, other.done) == (["killed"], [])
    assert queues.take(queues.called(A, "")) is other


def test_as_many_are_wanted_as_calls_found_none_and_never_too_many() -> None:
    queue = WarmQueues[FakeChild](ROOM).called(A, "")
    assert queue.missing == 1
    wanted = []
    for _ in range(5):
        queue.found_none()
        wanted.append(queue.wanted)
    assert wanted == [2, 4, 8, WAITING_OF_ONE_MAX, WAITING_OF_ONE_MAX]
    queue.coming = 3
    assert queue.missing == WAITING_OF_ONE_MAX - 3


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "take", "remove", "drop"]),
            st.sampled_from([A, B, C]),
            st.integers(0, ROOM),
        )
    )
)
def test_whatever_happens_the_budget_holds_and_every_byte_is_given_back(
    steps: list[tuple[str, Key, int]],
) -> None:
    queues = WarmQueues[FakeChild](ROOM)
    children: list[FakeChild] = []
    for number, (what, key, size) in enumerate(steps):
        if what == "put":
            children.append(put(queues, key, number, size))
        elif what == "take":
            queues.take(queues.called(key, ""))
        elif what == "remove" and children:
            queues.remove(children[size % len(children)])
        else:
            queues.drop(key)
        assert 0 <= queues.bytes <= ROOM
    for key in (A, B, C):
        queues.drop(key)
    assert (queues.waiting, queues.bytes) == (0, 0)
