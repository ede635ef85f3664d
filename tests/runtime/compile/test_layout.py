"""Layout propagation by itself: random graphs of permutes and other ops keep their values and lose their permutes."""

import random

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from thalweg._src.runtime.compile.layout import propagate_layouts

aten = torch.ops.aten
TO_CHANNELS_FIRST, TO_CHANNELS_LAST = [0, 3, 1, 2], [0, 2, 3, 1]


def permutes(graph):
    return sum(node.target is aten.permute.default for node in graph.graph.nodes)


def propagated(function, *inputs):
    """Returns a traced function with and without propagation, both as graphs."""
    graph = make_fx(function)(*inputs)
    return graph, make_fx(propagate_layouts(graph))(*inputs)


def test_permutes_around_pointwise_ops_cancel_out():
    def function(x, bias):
        y = aten.permute(x, TO_CHANNELS_LAST)
        y = torch.relu(y + bias) * 2
        return aten.permute(y, TO_CHANNELS_FIRST)

    x, bias = torch.randn(2, 3, 4, 5), torch.randn(3)
    graph, moved = propagated(function, x, bias)
    assert (permutes(graph), permutes(moved)) == (2, 1)  # that of the bias, which is a view of three numbers
    torch.testing.assert_close(moved(x, bias), graph(x, bias))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dims", [[0], [3], [1, 2], [-1, 0], [0, 1, 2, 3]])
def test_a_reduction_in_another_memory_order(dims, keepdim):
    def function(x):
        return aten.sum.dim_IntList(aten.permute(x, TO_CHANNELS_LAST), dims, keepdim) + 1

    x = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    graph, moved = propagated(function, x)
    torch.testing.assert_close(moved(x), graph(x))


def test_an_operand_with_more_dimensions_gets_the_whole_tensor():
    def function(x, larger):
        return aten.permute(x, [1, 0]) + larger

    x, larger = torch.randn(3, 2), torch.randn(4, 2, 3)
    graph, moved = propagated(function, x, larger)
    torch.testing.assert_close(moved(x, larger), graph(x, larger))


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_keep_their_values(seed):
    def function(x, bias):
        rng = random.Random(seed)
        values = [x, aten.permute(x, TO_CHANNELS_LAST)]
        for _ in range(8):
            value = rng.choice(values)
            dim = rng.randrange(4)
            kind = rng.randrange(7)
            if kind == 0:
                values.append(aten.permute(value, rng.sample(range(4), 4)))
            elif kind == 1:
                values.append(torch.tanh(value))
            elif kind == 2:
                alike = [other for other in values if other.shape == value.shape]
                values.append(value * rng.choice(alike))
            elif kind == 3:
                values.append(value + bias[: value.shape[3]])
            elif kind == 4:
                values.append(aten.cat([value, value], dim))
            elif kind == 5:
                values.append(aten.slice(value, dim, 0, max(1, value.shape[dim] - 1)))
            else:
                values.append(aten.mean(value, [dim], True) + value)
        return values[-1], aten.sum.dim_IntList(values[-2], [rng.randrange(4)])

    inputs = torch.randn(2, 3, 4, 5, dtype=torch.float64), torch.randn(64, dtype=torch.float64)
    graph, moved = propagated(function, *inputs)
    for actual, expected in zip(moved(*inputs), graph(*inputs)):
        torch.testing.assert_close(actual, expected)
