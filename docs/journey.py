"""One training step, followed through every stage from the graph to the result.

Run it: `python docs/journey.py`. It prints the result of each stage for a network with one hidden layer. The tests run
it, so its output is current. Each chapter names the file to read next.
"""

import re
import textwrap

import numpy as np

import thalweg as tf
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.optimize import optimize
from thalweg._src.compiler.partition.partition import partition
from thalweg._src.compiler.place.place import place
from thalweg._src.graph.show import show_graph, show_step
from thalweg._src.runtime.executable import Executable
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.kernels.registry import device_types
from thalweg._src.runtime.kernels.types import from_numpy
from thalweg._src.runtime.passes import evaluate
from thalweg._src.runtime.resources.step import Step

WIDTH = 110


def chapter(title: str, file: str, text: str, *shown: str) -> None:
    """Prints a heading, an explanation, and the result of a stage."""
    print(f"\n\n=== {title} {'=' * (WIDTH - len(title) - len(file) - 6)} {file}\n")
    print(textwrap.fill(" ".join(text.split()), WIDTH) + "\n")
    print("\n".join(shown).rstrip())


def folded(text: str) -> str:
    """Wraps long lines, but never after the arrow."""
    whole = re.sub(r" -> .*", lambda found: found[0].replace(" ", "\0"), text)
    fill = textwrap.TextWrapper(WIDTH, subsequent_indent=" " * 8, break_long_words=False, break_on_hyphens=False).fill
    return "\n".join(fill(line) for line in whole.split("\n")).replace("\0", " ")


def build(graph):
    """A TensorFlow 1 program. Nothing is computed here: each call adds operations to the graph."""
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

    forward = [op.name for op in graph.get_operations() if not op.name.startswith(("w1/", "b1/", "w2/"))]
    text = """Each line is an operation: its name, its type, its inputs, and the types and shapes of its outputs. Shapes
        are inferred before anything runs. The initializers of the variables are left out here."""
    chapter("The graph", "src/thalweg/_src/graph/graph.py", text, folded(show_graph(graph, forward)))
    return x, labels, loss


def differentiate(graph, loss):
    """Gradients and updates are operations like all others; `minimize` adds them to the graph."""
    before = len(graph.get_operations())
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
    added = graph.get_operations()[before:]
    telling = [op.name for op in added if op.type in ("MatMul", "ReluGrad", "ResourceApplyMomentum")]
    text = f"""`minimize` walks from the loss back to the variables. The gradient rule of each operation, in
        `src/thalweg/_src/graph/autodiff/rules/`, adds the operations that compute its gradient; one update per variable
        follows. {before} operations have become {before + len(added)}. Some of the new ones:"""
    chapter("The gradients", "src/thalweg/_src/graph/autodiff/gradients.py", text, folded(show_graph(graph, telling)))
    return train


def compile_by_hand(sess, feeds, loss, train):
    """Stages 1 to 5, which run once per step signature: the main passes of src/thalweg/_src/runtime/passes.py."""
    step = step_graph(feeds, [loss], [train])
    text = f"""The step fetches the loss, runs `train`, and feeds x and labels. {len(step.nodes)} of
        {len(sess.graph.get_operations())} operations are needed; the feeds replace the placeholders (`_Arg`).
        This is a private copy: no later stage touches the user's graph. `^name` is a control dependency: run after it,
        without using its value."""
    chapter("1 prune", "src/thalweg/_src/compiler/optimize/prune.py", text, folded(show_step(step)))

    optimize(step, sess._config.graph_options, lambda node: evaluate(node, sess._backend.placed[0]))
    text = f"""{len(step.nodes)} nodes are left. Look for `hidden`: product, bias and Relu are fused into one node. What
        depended on constants only is a constant. The three updates are one node that takes all variables."""
    chapter("2 optimize", "src/thalweg/_src/compiler/optimize/optimize.py", text, folded(show_step(step)))

    for node in step.nodes:  # a program would write `with tf.device("/cpu:1"):`
        if node.name.startswith(("loss", "gradients/loss")):
            node.device = "/device:CPU:1"
    devices = {device.name: device for device in sess._backend.placed}
    placement = place(step, list(devices), device_types, soft=False)
    homes = {name: [node.name for node, home in placement.devices.items() if home == name] for name in devices}
    text = """The session has two (virtual) devices, and the loss is constrained to the second one. All other nodes are
        placed on the first device that has a kernel for them, a variable together with all nodes that use it."""
    shown = [folded(f"{name}\n    {', '.join(nodes)}\n") for name, nodes in homes.items()]
    chapter("3 place", "src/thalweg/_src/compiler/place/place.py", text, *shown)

    parts = partition(step, placement.devices)
    text = """One graph per device. Two tensors cross: the logits in one direction, their gradient in the other. For
        each there is a `_Send` on one side and a `_Recv` on the other; nothing else connects the two graphs."""
    shown = [folded(f"{name}\n{show_step(part)}\n") for name, part in parts.items()]
    chapter("4 partition", "src/thalweg/_src/compiler/partition/partition.py", text, *shown)

    programs = [Program(part, devices[name]) for name, part in parts.items()]
    text = """Nodes that depend on the same `_Recv` nodes form a segment: one Python function, which starts when those
        have completed. Each line calls a kernel, in most cases a torch function itself. Constant arguments, such as the
        axis of a sum, are inlined. `del` frees a value after its last use."""
    chapter("5 compile", "src/thalweg/_src/runtime/compile/codegen.py", text, *[program.text for program in programs])
    return programs


def follow(graph, sess):
    x, labels, loss = build(graph)
    train = differentiate(graph, loss)
    programs = compile_by_hand(sess, [x, labels], loss, train)

    sess.run(tf.global_variables_initializer())
    feed = {x: np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32), labels: np.array([0, 1, 1, 0])}
    first = sess.run(loss, feed)
    values = [from_numpy(value, tensor.dtype) for tensor, value in feed.items()]
    (by_hand,) = Executable(programs, num_fetches=1, placement="").run(Step(), values)
    text = f"""The programs of both devices run concurrently and exchange tensors through the rendezvous of the step.
        Run from the parts above, the loss is {by_hand:.4f}; `Session.run(loss)` returned {first:.4f} before it. On one
        device nothing blocks, so the whole step is one function; `Session.run([loss, train], ...)` calls this:"""
    chapter("6 execute", "src/thalweg/_src/runtime/executable.py", text, sess.show_program([loss, train], feed))

    for _ in range(20):
        sess.run(train, feed)
    last = sess.run(loss, feed)
    text = "Stages 1 to 5 run once per step signature. Their programs are cached; every later run is stage 6 alone."
    shown = f"loss before training  {first:.4f}\nloss after 21 steps   {last:.4f}"
    chapter("The result", "src/thalweg/_src/runtime/session/session.py", text, shown)
    assert np.isclose(by_hand, first) and last < first
    return float(last)


def main():
    config = tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    with tf.Graph().as_default() as graph, tf.Session(config=config) as sess:
        return follow(graph, sess)


if __name__ == "__main__":
    main()
