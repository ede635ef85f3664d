"""Replica groups: who is waited for, who goes on, and what a chief that comes back changes."""

import pytest

import thalweg as tf
from thalweg._src.runtime.resources.replica_group import ReplicaGroup
from thalweg._src.runtime.resources.step import Step


class Waiting:
    """The outcome of an attempt: None while it waits, then a number, () or an error."""

    def __init__(self, call, *arguments):
        self.outcome = None
        self.step = Step()
        call(*arguments, self.step, self._finish, self._fail)

    def _finish(self, *values):
        self.outcome = values[0] if values else ()

    def _fail(self, step, error):
        self.outcome = error

    def cancel(self):
        self.step.fail(tf.errors.CancelledError(None, None, "the session is lost"))


def started(num_required=2, per_replica=1, num_backups=None, step=0):
    group = ReplicaGroup("group", num_required, per_replica, num_backups)
    group.open(group.start(step))
    return group


def test_a_round_needs_enough_replicas():
    group = started(2)
    taken = Waiting(group.take)
    first = Waiting(group.arrive, 0, 0)
    again = Waiting(group.arrive, 0, 0)  # the same replica, after a lost answer
    assert taken.outcome is None
    second = Waiting(group.arrive, 7, 0)
    assert taken.outcome == 0
    assert first.outcome is second.outcome is None
    group.open(1)
    assert first.outcome == again.outcome == second.outcome == 1


def test_a_late_replica_goes_on_with_the_newest_round():
    group = started(1)
    for number in range(3):
        Waiting(group.arrive, 0, number)
        group.open(number + 1)
    late = Waiting(group.arrive, 1, 0)
    assert late.outcome == 3
    assert Waiting(group.take).outcome is None  # and was not counted


def test_replicas_may_owe_several_gradients():
    group = started(4, per_replica=2)
    taken = Waiting(group.take)
    assert Waiting(group.arrive, 0, 0).outcome == 0  # its second gradient of this round
    assert Waiting(group.arrive, 1, 0).outcome == 0
    assert Waiting(group.arrive, 0, 0).outcome is None
    assert taken.outcome is None
    assert Waiting(group.arrive, 1, 0).outcome is None
    assert taken.outcome == 0


def test_rounds_never_go_back():
    group = started(1, step=57)
    in_flight = 57
    old = Waiting(group.take)
    first = group.start(50)  # a chief that restored a checkpoint
    assert first == 58
    assert isinstance(old.outcome, tf.errors.AbortedError)
    with pytest.raises(tf.errors.AbortedError, match="another chief has started"):
        group.open(57)
    late = Waiting(group.arrive, 1, in_flight)
    assert late.outcome is None
    group.open(first)
    assert late.outcome == 58
    assert Waiting(group.take).outcome is None


def test_the_end_of_training():
    group = started(2)
    taken, waiting = Waiting(group.take), Waiting(group.arrive, 0, 0)
    group.stop()
    assert isinstance(taken.outcome, tf.errors.OutOfRangeError)
    assert isinstance(waiting.outcome, tf.errors.OutOfRangeError)
    assert isinstance(Waiting(group.arrive, 1, 0).outcome, tf.errors.OutOfRangeError)
    group.open(group.start(3))
    assert Waiting(group.arrive, 1, 0).outcome == 3


def test_a_chief_that_is_cancelled_leaves_replicas_waiting():
    group = started(2)
    taken, waiting = Waiting(group.take), Waiting(group.arrive, 0, 0)
    group.cancel()
    assert isinstance(taken.outcome, tf.errors.CancelledError)
    assert isinstance(Waiting(group.take).outcome, tf.errors.CancelledError)  # one that came a moment later
    assert waiting.outcome is None


def test_members_are_waited_for_until_their_step_ends():
    group = ReplicaGroup("group", 1, 1, 0)
    members = {replica: Waiting(group.join, replica) for replica in range(2)}
    group.open(group.start(0))
    taken = Waiting(group.take)
    Waiting(group.arrive, 0, 0)
    assert taken.outcome is None
    members[1].cancel()
    assert taken.outcome == 0


def test_a_new_member_is_waited_for_from_the_next_round_on():
    group = ReplicaGroup("group", 1, 1, 0)
    members = [Waiting(group.join, 0)]
    group.open(group.start(0))
    members.append(Waiting(group.join, 1))
    taken = Waiting(group.take)
    Waiting(group.arrive, 0, 0)
    assert taken.outcome == 0
    group.open(1)
    taken = Waiting(group.take)
    Waiting(group.arrive, 0, 1)
    assert taken.outcome is None
    Waiting(group.arrive, 1, 1)
    assert taken.outcome == 1


def test_a_restarted_member_is_not_removed_by_its_former_self():
    group = ReplicaGroup("group", 1, 1, 0)
    members = [Waiting(group.join, 0), Waiting(group.join, 1), Waiting(group.join, 1)]
    group.open(group.start(0))
    members[1].cancel()
    taken = Waiting(group.take)
    Waiting(group.arrive, 0, 0)
    assert taken.outcome is None


def test_backups_of_an_elastic_group():
    group = ReplicaGroup("group", 1, 1, 1)
    members = [Waiting(group.join, replica) for replica in range(3)]
    group.open(group.start(0))
    taken = Waiting(group.take)
    Waiting(group.arrive, 0, 0)
    assert taken.outcome is None
    Waiting(group.arrive, 2, 0)
    assert taken.outcome == 0
    assert all(member.outcome is None for member in members)


def test_no_update_begins_during_a_pause():
    group = started(1)
    paused = Waiting(group.pause)
    assert paused.outcome == ()
    taken = Waiting(group.take)
    Waiting(group.arrive, 0, 0)
    assert taken.outcome is None
    group.resume()
    assert taken.outcome == 0


def test_a_pause_waits_for_the_update_that_is_applied():
    group = started(1)
    Waiting(group.arrive, 0, 0)
    assert Waiting(group.take).outcome == 0
    first, second = Waiting(group.pause), Waiting(group.pause)
    assert first.outcome is second.outcome is None
    group.open(1)
    assert first.outcome == second.outcome == ()
    taken = Waiting(group.take)
    Waiting(group.arrive, 0, 1)
    group.resume()
    assert taken.outcome is None
    group.resume()
    assert taken.outcome == 1


def test_a_pause_does_not_wait_for_a_chief_that_was_lost():
    group = started(1)
    Waiting(group.arrive, 0, 0)
    taken = Waiting(group.take)
    paused = Waiting(group.pause)
    taken.cancel()
    assert paused.outcome == ()


def test_an_update_is_interrupted_by_the_loss_of_its_chief():
    group = started(1)
    taken = Waiting(group.take)
    taken.cancel()  # before it has begun
    assert not group.is_interrupted
    for number in range(2):
        taken = Waiting(group.take)
        Waiting(group.arrive, 0, group.round)
        assert taken.outcome == group.round and group.is_interrupted  # a chief that asks is another one
        if number == 0:
            group.open(group.round + 1)
            taken.cancel()  # after the update
            assert not group.is_interrupted
    taken.cancel()
    assert group.is_interrupted
    group.open(group.start(0))
    assert not group.is_interrupted


def test_a_new_chief_ends_the_pause_of_a_lost_one():
    group = started(1)
    Waiting(group.pause)
    group.open(group.start(0))
    Waiting(group.arrive, 0, 1)
    assert Waiting(group.take).outcome == 1


def test_a_replica_that_begins_before_the_round_is_open_does_not_count_in_it():
    group = ReplicaGroup("group", 1, 1, None)
    assert group.current(4) == 3
    round_ = group.start(4)
    early = group.current(4)
    assert (round_, early) == (4, 3)
    group.open(round_)
    taken, arrived = Waiting(group.take), Waiting(group.arrive, 0, early)
    assert taken.outcome is None and arrived.outcome == 4  # its gradient may have been erased: it delivers another one
    assert group.current(4) == 4
