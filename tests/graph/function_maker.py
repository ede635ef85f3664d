"""Functions for tests, made of Python functions of tensors."""

import thalweg as tf
from thalweg._src.graph.function import GraphFunction
from thalweg._src.graph.function_graph import FunctionGraph


def make_function(name, types, build, shapes=None):
    """Returns a function in the library of the default graph; build: from its arguments to a list of results."""
    outer = tf.get_default_graph()
    graph = FunctionGraph(outer)
    with graph.as_default():
        arguments = [graph.argument(dtype, shapes[i] if shapes else ()) for i, dtype in enumerate(types)]
        results = [graph.capture(tf.convert_to_tensor(result)) for result in build(*arguments)]
    function = GraphFunction(name, graph, [*arguments, *graph.captured.values()], results)
    outer._add_function(function)
    return function


def floats(name, build, count=1):
    """Returns a function of scalar float32 arguments."""
    return make_function(name, [tf.float32] * count, build)


def functional(op_type, inputs, name=None, **attrs):
    """Adds an operation that calls functions; returns its outputs."""
    return tf.get_default_graph().create_op(op_type, inputs, attrs=attrs, name=name).outputs


def if_(pred, then, otherwise, inputs, op_type="If"):
    types = list(then.output_types)
    return functional(op_type, [pred, *inputs], then_branch=then, else_branch=otherwise, Tout=types)


def while_(condition, body, inputs, op_type="While"):
    return functional(op_type, inputs, cond=condition, body=body)


def case_(index, branches, inputs, op_type="Case"):
    return functional(op_type, [index, *inputs], branches=branches, Tout=list(branches[0].output_types))
