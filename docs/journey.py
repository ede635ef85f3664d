"""One training step, followed through every stage from the graph to the result.

Run it: `python docs/journey.py`. It prints what each stage makes of a network with one hidden layer, and it runs in the
tests, so what it shows is what happens. Each part names the file to read next.
"""

import numpy as np

import thalweg as tf
from thalweg.execute.program import Program
from thalweg.graph.show import show_graph, show_step
from thalweg.kernels.registry import device_types
from thalweg.optimize.optimize import optimize
from thalweg.optimize.prune import prune
from thalweg.partition.partition import partition
from thalweg.place.place import place
from thalweg.runtime.pipeline import evaluate


def chapter(title: str, text: str) -> None:
    print(f"\n=== {title} " + "=" * max(0, 100 - len(title)))
    print(text)


def main() -> float:
    # -- The program: a TensorFlow 1 program, which only builds a graph. --------------------------------------------------
    tf.reset_default_graph()
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    labels = tf.placeholder(tf.int64, [4], name="labels")
    w1 = tf.get_variable("w1", [3, 5])
    b1 = tf.get_variable("b1", [5], initializer=tf.zeros_initializer())
    w2 = tf.get_variable("w2", [5, 2])
    hidden = tf.nn.relu(tf.matmul(x, w1) + b1, name="hidden")
    logits = tf.matmul(hidden, w2, name="logits")
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="losses")
    loss = tf.reduce_mean(losses, name="loss")
    graph = tf.get_default_graph()
    chapter("The graph: src/thalweg/graph/", show_graph(graph, ["x", "w1", "hidden", "logits", "losses", "loss"]))

    # -- Gradients: the graph grows by the nodes that differentiate it. ---------------------------------------------------
    before = len(graph.get_operations())
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
    added = [op for op in graph.get_operations()[before:] if op.type in ("MatMul", "ReluGrad", "ResourceApplyMomentum")]
    chapter(
        "Gradients: src/thalweg/autodiff/gradients.py",
        f"{before} operations became {len(graph.get_operations())}; among the new ones:\n"
        + "\n".join(f"  {op.type:22} {op.name}" for op in added),
    )

    # -- 1 and 2: only what the step needs, then less. --------------------------------------------------------------------
    sess = tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))
    sess.run(tf.global_variables_initializer())
    step = prune([x, labels], [loss], [train])
    chapter(
        "1 prune: src/thalweg/optimize/prune.py",
        f"{len(step.nodes)} of {len(graph.get_operations())} operations are needed\n{show_step(step)}",
    )
    optimize(step, sess._config.graph_options.optimizer_options, lambda node: evaluate(node, sess._devices[0]))
    chapter("2 optimize: src/thalweg/optimize/optimize.py", f"{len(step.nodes)} nodes are left\n{show_step(step)}")

    # -- 3 and 4: devices. The second layer's product is put on another (virtual) device to show a border. -----------------
    for node in step.nodes:
        if node.name.startswith("logits"):
            node.device = "/device:CPU:1"
    placement = place(step, [device.name for device in sess._devices], device_types, soft=False)
    chapter("3 place: src/thalweg/place/place.py", placement.report())
    parts = partition(step, placement.devices)
    chapter(
        "4 partition: src/thalweg/partition/partition.py",
        "\n".join(f"{name}\n{show_step(part)}" for name, part in parts.items()),
    )

    # -- 5: bound kernels as straight Python, one function for each set of waits. -----------------------------------------
    devices = {device.name: device for device in sess._devices}
    programs = [Program(part, devices[name]) for name, part in parts.items()]
    chapter("5 compile: src/thalweg/execute/", "\n".join(program.text for program in programs))

    # -- 6: the same, through the front door. On one device the whole step is one function. -------------------------------
    rng = np.random.default_rng(0)
    feed = {x: rng.normal(size=(4, 3)), labels: [0, 1, 1, 0]}
    chapter("6 execute: src/thalweg/runtime/executable.py", sess.show_program([loss, train], feed))
    first = sess.run(loss, feed)
    for _ in range(20):
        sess.run(train, feed)
    last = sess.run(loss, feed)
    chapter("The result", f"loss before training: {first:.4f}\nloss after 20 steps:  {last:.4f}")
    assert last < first
    return float(last)


if __name__ == "__main__":
    main()
