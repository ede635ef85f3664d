"""The pretended GPU behaves as CUDA does; these run with `--pretend-gpu` only."""

import threading

import numpy as np
import pytest
import torch

import thalweg as tf
from tests.stream_capture import capture

AWAY = "away:0"


@pytest.fixture(autouse=True)
def installed(pytestconfig):
    if not pytestconfig.getoption("--pretend-gpu"):
        pytest.skip("without --pretend-gpu there is no such device")


def test_values_come_back_by_copies_alone():
    x = torch.ones(2, 3, device=AWAY)
    assert str(x.device) == AWAY
    np.testing.assert_array_equal((x + x).cpu().numpy(), np.full((2, 3), 2.0))
    with pytest.raises(TypeError, match=r"can't convert away:0 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\)"):
        np.asarray(x)


@pytest.mark.parametrize(
    "mix",
    [
        lambda here, there: there + here,
        lambda here, there: torch.cat([there, here]),
        lambda here, there: here.add_(there),
        lambda here, there: torch.matmul(there, here),
        lambda here, there: torch.where(there > 0, there, here),
    ],
)
def test_devices_do_not_mix(mix):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        mix(torch.ones(3), torch.ones(3, device=AWAY))


def test_a_number_of_the_host_may_take_part_in_arithmetic_but_not_in_others():
    x, number = torch.ones(3, device=AWAY), torch.tensor(2.0)
    assert (x * number).tolist() == [2, 2, 2]
    assert torch.where(x > 0, number, x).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="same device"):
        torch.stack([x[0], number])


def test_indices_may_be_on_the_host():
    x = torch.arange(4, device=AWAY)
    assert x[torch.tensor([2, 0])].tolist() == [2, 0]
    with pytest.raises(RuntimeError, match="same device"):
        torch.index_select(x, 0, torch.tensor([2, 0]))


def test_every_thread_copies_numbers_to_the_device():
    x, found = torch.arange(4, device=AWAY), []
    thread = threading.Thread(target=lambda: found.append(x[[2, 0]].tolist()))
    thread.start()
    thread.join()
    assert found == [[2, 0]]


def test_views_share_memory_and_layouts_are_kept():
    x = torch.zeros(2, 3, device=AWAY)
    view = x.t()[1]
    assert view.stride() == (3,)
    assert view.add_(1) is view
    assert x.tolist() == [[0, 1, 0], [0, 1, 0]]
    assert torch.zeros(1, 2, 3, 3, device=AWAY).to(memory_format=torch.channels_last).stride() == (18, 1, 6, 2)


def test_results_go_to_the_tensor_that_is_given_for_them():
    out = torch.empty(0, device=AWAY)
    assert torch.add(torch.ones(2, 2, device=AWAY), 1, out=out) is out
    assert (out.shape, out.tolist()) == ((2, 2), [[2, 2], [2, 2]])


def test_conjugates_are_views():
    x = torch.tensor([1 + 2j], device=AWAY)
    assert x.conj().is_conj()
    assert (x.conj() * 1j).tolist() == [(1 - 2j) * 1j]


def test_a_generator_belongs_to_a_device():
    generator = torch.Generator(AWAY).manual_seed(1)
    assert str(generator.device) == AWAY
    drawn = torch.rand(3, device=AWAY, generator=generator)
    assert drawn.tolist() != torch.rand(3, device=AWAY, generator=generator).tolist()
    assert drawn.tolist() == torch.rand(3, device=AWAY, generator=generator.manual_seed(1)).tolist()
    with pytest.raises(RuntimeError, match="Expected a 'away' device type for generator but found 'cpu'"):
        torch.rand(3, device=AWAY, generator=torch.Generator())


def test_every_thread_has_the_device():
    made = []
    thread = threading.Thread(target=lambda: made.append(torch.arange(3, device=AWAY) + 1))
    thread.start()
    thread.join()
    assert made[0].tolist() == [1, 2, 3]


def test_a_type_without_a_kernel_on_cuda_has_none():
    x = torch.ones(2, 2, dtype=torch.int32, device=AWAY)
    with pytest.raises(NotImplementedError, match="\"addmm_cuda\" not implemented for 'Int'"):
        torch.mm(x, x)


def test_operations_of_such_a_type_are_computed_on_the_host():
    x = tf.placeholder(tf.int32, [2, 2])
    with tf.Session() as session:
        assert session.run(tf.matmul(x, x) * 2, {x: np.eye(2)}).tolist() == [[2, 0], [0, 2]]


def test_a_capture_computes_when_it_is_replayed():
    x, total = torch.ones(2, device=AWAY), torch.zeros(2, device=AWAY)

    def work():
        total.add_(x)
        return [x * 2 + torch.tensor(1.0)]

    (value,), replay = capture(work, [])
    assert total.tolist() == [0, 0]
    assert value.tolist() != [3, 3]
    replay()
    assert (value.tolist(), total.tolist()) == ([3, 3], [1, 1])
    x.fill_(5)
    replay()
    assert (value.tolist(), total.tolist()) == ([11, 11], [6, 6])


def test_a_capture_draws_anew_each_time():
    generator = torch.Generator(AWAY).manual_seed(1)
    state = generator.get_state()
    (value,), replay = capture(lambda: [torch.rand(3, device=AWAY, generator=generator)], [generator])
    assert torch.equal(generator.get_state(), state)
    replay()
    first = value.tolist()
    replay()
    assert value.tolist() != first


@pytest.mark.parametrize(
    "wait",
    [lambda x: x.sum().item(), lambda x: x.nonzero(), lambda x: x.cpu(), lambda x: x + torch.ones(2).to(x.device)],
)
def test_a_capture_refuses_to_wait(wait):
    x = torch.ones(2, device=AWAY)
    with pytest.raises(RuntimeError, match="not permitted when stream is capturing"):
        capture(lambda: [wait(x)], [])


def test_a_capture_does_not_keep_the_memory_of_others():
    held = [torch.ones(2, device=AWAY)]
    _, replay = capture(lambda: [held[0] + 1], [])
    held.clear()
    with pytest.raises(RuntimeError, match="uses memory that was freed"):
        replay()


def test_operations_are_placed_there():
    x, metadata = tf.placeholder(tf.float32, [2]), tf.RunMetadata()
    with tf.Session() as session:
        assert session.list_devices()[-1].name.endswith("/device:GPU:0")
        session.run(tf.exp(x), {x: [0, 1]}, tf.RunOptions(output_partition_graphs=True), metadata)
    placed = {node.op: node.device for graph in metadata.partition_graphs for node in graph.node}
    assert placed["Exp"].endswith("/device:GPU:0")
