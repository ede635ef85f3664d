"""The groups at their leader, as a state machine."""

import pytest

import thalweg as tf
from thalweg._src.cluster.distributed.group_table import Formed, GroupTable, Member

ZERO, ONE, TEN = (f"/job:worker/replica:0/task:{index}" for index in (0, 1, 10))


@pytest.fixture
def table():
    return GroupTable(iter(range(1, 100)).__next__)


def test_a_group_is_complete_when_all_members_have_joined(table):
    assert table.join(1, 4, Member(TEN, 7, 1, 0.0)) == [TEN]
    assert table.join(1, 4, Member(ONE, 8, 1, 0.1)) == [ONE, TEN]
    formed = table.join(1, 4, Member(ZERO, 9, 2, 0.2))
    assert (formed.tasks, formed.local_sizes) == ((ZERO, ONE, TEN), (2, 1, 1))
    assert table.join(1, 4, Member(TEN, 7, 1, 0.3)) is formed
    again = table.join(1, 4, Member(TEN, 11, 1, 0.4))
    assert again == [TEN], "another attempt belongs to the next group"


def test_members_who_left_lost_or_silent_do_not_count(table):
    table.join(1, 2, Member(ZERO, 1, 1, 0.0))
    table.leave(1, 1)
    assert table.join(1, 2, Member(ONE, 2, 1, 0.0)) == [ONE]
    table.peer_lost(ONE, "it stopped")
    assert table.join(1, 2, Member(ZERO, 3, 1, 0.0)) == [ZERO]
    assert table.join(1, 2, Member(ONE, 4, 1, 60.0)) == [ONE]
    assert table.join(1, 2, Member(ONE, 5, 1, 60.0)) == [ONE], "the same task with another attempt"


def test_a_member_that_leaves_a_complete_group_learns_who_waits_for_it(table):
    table.join(1, 2, Member(ZERO, 1, 1, 0.0))
    formed = table.join(1, 2, Member(ONE, 2, 1, 0.0))
    assert table.leave(1, 1) is formed
    assert table.leave(1, 3) is None


def test_the_loss_of_a_member_is_told_to_those_that_wait(table):
    table.join(1, 3, Member(ZERO, 1, 1, 0.0))
    table.join(1, 3, Member(ONE, 2, 1, 0.0))
    table.peer_lost(ONE, "it stopped")
    with pytest.raises(tf.errors.UnavailableError, match="task:1 is lost: it stopped"):
        table.join(1, 3, Member(ZERO, 1, 1, 0.1))


def test_members_that_disagree_all_have_the_error(table):
    table.join(1, 3, Member(ZERO, 1, 1, 0.0))
    for member in (Member(ONE, 2, 1, 0.0), Member(ZERO, 1, 1, 0.1), Member(ONE, 2, 1, 0.2)):  # also asked again
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"3 members for .*task:0, and 2 for .*task:1"):
            table.join(1, 2, member)


def test_too_many_members_are_refused(table):
    table.join(1, 3, Member(ZERO, 1, 2, 0.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"2 at .*task:0, 2 at .*task:1"):
        table.join(1, 3, Member(ONE, 2, 2, 0.0))


def test_the_store_of_a_group_is_limited(table):
    table.join(1, 2, Member(ZERO, 1, 1, 0.0))
    formed = table.join(1, 2, Member(ONE, 2, 1, 0.0))
    assert isinstance(formed, Formed)
    table.set(formed.number, "key", b"value")
    assert table.values(formed.number) == {"key": b"value"}
    with pytest.raises(tf.errors.ResourceExhaustedError):
        table.set(formed.number, "key", bytes(1 << 21))
    with pytest.raises(tf.errors.AbortedError, match="leader has restarted"):
        table.values(formed.number + 1)
