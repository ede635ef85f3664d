"""An op of your own: schema, facts, kernel for CPU and GPU, gradient; graphs that use, differentiate and run it."""

import numpy as np
import torch

import thalweg as tf

# 1. What it takes and gives. `infer` gives the static shapes of the outputs: here that of the only input.
#    The facts say what the compiler may do: fuse it with other ops, and compute it once if a loop does not change x.
swish = tf.op(
    "Swish",
    "x: T -> y: T",
    T=frozenset((tf.float32, tf.float64)),
    beta=1.0,
    infer=lambda c: c.shapes,
    traceable=True,
    fails="never",
    doc="x * sigmoid(beta * x).",
)


# 2. How it runs. The binder is called once, when a step is compiled; what it returns is called in every step.
@tf.kernel("Swish", devices=("CPU", "GPU"))
def bind_swish(node, device):
    beta = node.attrs["beta"]
    if beta == 1.0:
        return torch.nn.functional.silu
    return lambda x: x * torch.sigmoid(beta * x)


# 3. How it is differentiated: by a graph of other ops, so that gradients of gradients work too.
@tf.RegisterGradient("Swish")
def swish_grad(op, grad):
    x, beta = op.inputs[0], op.get_attr("beta")
    gate = tf.sigmoid(beta * x)
    return grad * (gate + beta * x * gate * (1 - gate))


# 4. What the facts are for: the loop adds the same value in every iteration, so it is computed once in front of it.
def add_repeatedly(x, times):
    return tf.while_loop(lambda i, total: i < times, lambda i, total: (i + 1, total + swish(x)), [0, x])[1]


def main():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = swish(x, beta=2.0)
    (dy_dx,) = tf.gradients(y, x)
    (d2y_dx2,) = tf.gradients(dy_dx, x)
    with tf.Session() as session:
        values = session.run([y, dy_dx, d2y_dx2], {x: [[-1.0, 0.0, 1.0]]})
    for name, value in zip(("y", "dy/dx", "d2y/dx2"), values):
        print(f"{name:8}", np.round(value, 4))

    total = add_repeatedly(x, 4)
    with tf.Session() as session:
        print(session.show_program(total, [x]))
    return values


if __name__ == "__main__":
    main()
