"""Small placement problems: graphs of nodes whose times are given by name."""

import itertools

import thalweg as tf
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.optimize import optimize
from thalweg._src.compiler.place.cost import CostModel, Link
from thalweg._src.compiler.place.place import make_problem

PREFIX = "/job:localhost/replica:0/task:0/device:"
CPU = [f"{PREFIX}CPU:{i}" for i in range(4)]
GPU = [f"{PREFIX}GPU:{i}" for i in range(2)]


def anywhere(node):
    return {"CPU", "GPU"}


def costs_of(times, latency=0.5, bandwidth=1e30, overhead=0.0, segment=0.0, kinds=("CPU",)):
    """Returns a cost model with the seconds of nodes by name; all links are alike."""
    link = Link(latency, bandwidth, overhead)
    costs = CostModel(links=dict.fromkeys(("CPU>CPU", "CPU>GPU", "GPU>CPU", "GPU>GPU"), link), segment=segment)
    graph = tf.get_default_graph()
    for name, seconds in times.items():
        op_type = graph.get_operation_by_name(name).type
        for kind in kinds:
            costs.measured[f"{kind} {name} = {op_type}"] = (float(seconds), 1)
    return costs


def problem_of(fetches, feeds=(), times=(), devices=2, types=anywhere, targets=(), optimized=False, **links):
    """Returns the problem of placing a step on some CPUs, or on named devices."""
    step = step_graph(list(feeds), list(fetches), list(targets))
    if optimized:
        optimize(step, tf.GraphOptions(), lambda node: None)
    names = CPU[:devices] if isinstance(devices, int) else devices
    costs = links.pop("costs", None) or costs_of(dict(times), **links)
    return make_problem(step, names, types, costs=costs)


def chain(x, *names):
    """Adds nodes one after the other."""
    for name in names:
        x = tf.sin(x, name=name)
    return x


def group_named(problem, name):
    return next(group for group in problem.all_groups if any(node.name == name for node in group.nodes))


def unit_named(problem, name):
    return next(unit for unit, node in enumerate(problem.units) if node.name == name)


def optimum(problem):
    """Returns the shortest simulated step of all choices."""
    options = [group.feasible for group in problem.groups]
    return min(problem.time(dict(zip(problem.groups, places))) for places in itertools.product(*options))


def layered(rng, layers, width, links=2):
    """Returns a random layered graph's fetches, feeds and times."""
    x = tf.placeholder(tf.float32, [2], name="x")
    times, before = {}, [x]
    for layer in range(layers):
        nodes = []
        for column in range(width):
            chosen = rng.choice(len(before), min(links, len(before)), replace=False)
            name = f"n{layer}_{column}"
            nodes.append(tf.add_n([before[i] for i in chosen], name=name))
            times[nodes[-1].op.name] = float(rng.uniform(0.2, 2.0))
        before = nodes
    return before, [x], times
