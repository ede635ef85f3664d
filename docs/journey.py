"""One training step, followed through every stage from the graph to the result.

Run it: `python docs/journey.py`. It prints what each stage makes of a network with one hidden layer, and it runs in the
tests, so what it shows is what happens. Each chapter names the file to read next.
"""

import textwrap

import numpy as np

import thalweg as tf
from thalweg.execute.program import Program
from thalweg.graph.show import show_graph, show_step
from thalweg.kernels.registry import device_types
from thalweg.kernels.types import from_numpy
from thalweg.optimize.optimize import optimize
from thalweg.optimize.prune import prune
from thalweg.partition.partition import partition
from thalweg.place.place import place
from thalweg.runtime.executable import Executable
from thalweg.runtime.pipeline import evaluate
from thalweg.runtime.step import Step

WIDTH = 110


def chapter(title: str, file: str, text: str, *shown: str) -> None:
    """Prints a heading, what there is to see, and the thing itself."""
    print(f"\n\n=== {title} {'=' * (WIDTH - len(title) - len(file) - 6)} {file}\n")
    print(textwrap.fill(" ".join(text.split()), WIDTH), end="\n\n")
    print("\n".join(shown).rstrip())


def folded(text: str) -> str:
    """Breaks lines that are too long for the page; `x -> float32[2, 3]` stays together."""
    whole = text.replace(" -> ", "\0->\0").replace(", ", ",\0").replace(",\0", ", ")
    lines = (
        textwrap.fill(line, WIDTH, subsequent_indent=" " * 8, break_long_words=False) for line in whole.split("\n")
    )
    return "\n".join(lines).replace("\0", " ")


def main() -> float:
    with tf.Graph().as_default() as graph, tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        return follow(graph, sess)


def follow(graph: tf.Graph, sess: tf.Session) -> float:
    # -- A TensorFlow 1 program. Nothing is computed here: each call adds operations to the graph. ---------------------
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
    text = """A line is an operation: its name, its type, the tensors it takes, and type and shape of what it gives.
        Shapes are known before anything runs. What initializes the variables is left out here."""
    chapter("The graph", "src/thalweg/graph/graph.py", text, folded(show_graph(graph, forward)))

    # -- Gradients and updates are operations like all others. --------------------------------------------------------
    before = len(graph.get_operations())
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
    init = tf.global_variables_initializer()
    total = len(graph.get_operations())
    telling = ("MatMul", "ReluGrad", "ResourceApplyMomentum")
    added = [op.name for op in graph.get_operations()[before:] if op.type in telling]
    text = f"""`minimize` walks from the loss back to the variables. The rule of each operation (src/thalweg/autodiff/rules/)
        adds those that compute its gradient; then comes an update for each variable. {before} operations have become
        {total}. Some of the new ones:"""
    chapter("The gradients", "src/thalweg/autodiff/gradients.py", text, folded(show_graph(graph, added)))

    # -- 1 and 2: only what the step needs, then less. ----------------------------------------------------------------
    step = prune([x, labels], [loss], [train])
    text = f"""The step fetches the loss, runs `train`, and feeds x and labels. {len(step.nodes)} of {total} operations are
        needed; the feeds take the places of the placeholders (`_Arg`). This is a private copy: from here on the
        user's graph is not touched. `^name` is a control dependency: run after it, take nothing from it."""
    chapter("1 prune", "src/thalweg/optimize/prune.py", text, folded(show_step(step)))

    optimize(step, sess._config.graph_options.optimizer_options, lambda node: evaluate(node, sess._devices[0]))
    text = f"""{len(step.nodes)} nodes are left. Look for `hidden`: product, bias and Relu are one node. What depended on
        constants alone is a constant. The three updates are one, which takes all variables at once."""
    chapter("2 optimize", "src/thalweg/optimize/optimize.py", text, folded(show_step(step)))

    # -- 3 and 4: devices. A program asks for one by `with tf.device("/cpu:1")`; here we ask for it afterwards. --------
    for node in step.nodes:
        if node.name.startswith(("loss", "gradients/loss")):
            node.device = "/device:CPU:1"
    placement = place(step, [device.name for device in sess._devices], device_types, soft=False)
    homes = {
        device.name: [n.name for n, home in placement.devices.items() if home == device.name]
        for device in sess._devices
    }
    text = """The session has two (virtual) devices, and we want the loss on the second one. All other nodes go to the first
        that has a kernel for them, variables together with all that reads or writes them."""
    chapter(
        "3 place", "src/thalweg/place/place.py", text, *[folded(f"{d}\n  {', '.join(n)}\n") for d, n in homes.items()]
    )

    parts = partition(step, placement.devices)
    text = """Each device gets a graph of its own. Two tensors cross the border: the logits go over, their gradient comes
        back. For each there is a `_Send` on one side and a `_Recv` on the other, and no other tie between the two."""
    chapter(
        "4 partition",
        "src/thalweg/partition/partition.py",
        text,
        *[folded(f"{d}\n{show_step(p)}\n") for d, p in parts.items()],
    )

    # -- 5: bound kernels as straight Python, one function for each set of waits. -------------------------------------
    devices = {device.name: device for device in sess._devices}
    programs = [Program(part, devices[name]) for name, part in parts.items()]
    text = """Nodes that wait for the same `_Recv` nodes become one Python function. Each line calls a kernel, most often a torch
        function itself, and `del` frees a value after its last use. Arguments that do not change, as the axis of a
        sum, are written in. A function starts when what it waits for has come."""
    chapter("5 compile", "src/thalweg/execute/codegen.py", text, *[program.text for program in programs])

    # -- 6: run it, by hand and then through the front door. ----------------------------------------------------------
    sess.run(init)
    values = {x: np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32), labels: np.array([0, 1, 1, 0])}
    first = sess.run(loss, values)
    fed = [from_numpy(value, tensor.dtype) for tensor, value in values.items()]
    (by_hand,) = Executable(programs, num_fetches=1, placement="").run(Step(), fed)
    text = f"""The programs of both devices run at once and meet at the rendezvous of the step. This step, run from the parts
        above, gives the loss {by_hand:.4f}; `Session.run(loss)` before it gave {first:.4f}. On one device nothing waits, so the
        whole step is one function; this is what `Session.run([loss, train], ...)` calls from now on:"""
    chapter("6 execute", "src/thalweg/runtime/executable.py", text, sess.show_program([loss, train], values))

    for _ in range(20):
        sess.run(train, values)
    last = sess.run(loss, values)
    text = "All of the above happens once for each kind of step; its programs are kept, and every later run is stage 6 alone."
    chapter(
        "The result",
        "src/thalweg/client/session.py",
        text,
        f"loss before training  {first:.4f}\nloss after 21 steps   {last:.4f}",
    )
    assert by_hand == first and last < first
    return float(last)


if __name__ == "__main__":
    main()
