"""The links of a group: what members compute together, and members that send what they should not, or nothing."""

import contextlib
from concurrent.futures import wait

import pytest
import torch

import thalweg as tf
from thalweg._src.cluster.distributed import group_links
from thalweg._src.cluster.distributed.group_links import GroupLinks


class _Member:
    """A member of a group in this process."""

    copies = False

    def __init__(self, rank):
        self.task = f"/job:worker/replica:0/task:{rank}"
        self.links = None

    def push(self, step, key, value):
        assert step == 7 and key.startswith(group_links.KEY)
        self.links.mailbox.deliver(key, value)


@pytest.fixture
def group():
    with contextlib.ExitStack() as stack:

        def make(size):
            members = [_Member(rank) for rank in range(size)]
            for rank, member in enumerate(members):
                member.links = GroupLinks(7, rank, members)
                stack.callback(member.links.close)
            return [member.links for member in members]

        yield make


def _run(group, method, *arguments):
    """Runs an operation at all members, with arguments of each; returns their results."""
    futures = [links.start(getattr(links, method), *mine) for links, *mine in zip(group, *arguments, strict=True)]
    return [future.result() for future in futures]


@pytest.mark.parametrize("shape", [(), (2,), (3, 5)])  # also fewer numbers than members
@pytest.mark.parametrize(("merge_op", "expected"), [("Add", 6.0), ("Mul", 6.0), ("Min", 1.0), ("Max", 3.0)])
def test_all_members_have_the_reduction(group, shape, merge_op, expected):
    values = [torch.full(shape, rank + 1.0) for rank in range(3)]
    for result, value in zip(_run(group(3), "reduce", [1] * 3, values, [merge_op] * 3), values, strict=True):
        assert result is value and torch.equal(value, torch.full(shape, expected))


def test_sums_have_the_same_bits_at_all_members(group):
    values = [torch.randn(1000) * 10.0**rank for rank in range(4)]
    expected = ((values[0] + values[1]) + values[2]) + values[3]
    for result in _run(group(4), "reduce", [1] * 4, values, ["Add"] * 4):
        assert torch.equal(result, expected)


def test_values_that_are_gathered_or_sent_may_change_afterwards(group):
    members = group(3)
    values = [torch.full([2], float(rank)) for rank in range(3)]
    early = members[0].start(members[0].gather, 1, values[0])
    sent = members[1].start(members[1].broadcast, 2, values[1], 1)
    assert sent.result() is values[1]
    values[1].fill_(9.0)
    rows = [early, *(links.start(links.gather, 1, value) for links, value in zip(members[1:], values[1:]))]
    for row in rows:
        assert torch.equal(row.result(), torch.tensor([[0.0, 0.0], [9.0, 9.0], [2.0, 2.0]]))
    for links in (members[0], members[2]):
        assert torch.equal(links.start(links.broadcast, 2, torch.empty(2), 1).result(), torch.ones(2))


def test_a_member_that_sends_another_tensor_is_named(group):
    first, second = group(2)
    second.start(second.gather, 1, torch.zeros(3, dtype=torch.float64))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"task:1 sent torch.float64 \(3,\) in a collective of"):
        first.start(first.gather, 1, torch.zeros(3)).result()


def test_a_member_that_sends_nothing_is_named(group, monkeypatch):
    monkeypatch.setattr(group_links, "WAIT_SECONDS", 0.01)
    first, _ = group(2)
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"no tensor .* from /job:worker/replica:0/task:1 within"):
        first.start(first.gather, 1, torch.zeros(3)).result()


def test_an_operation_ends_with_the_links(group):
    first, _ = group(2)
    waiting = first.start(first.gather, 1, torch.zeros(3))
    assert not wait([waiting], timeout=0.05).done
    first.close()
    with pytest.raises(tf.errors.CancelledError):
        waiting.result()
