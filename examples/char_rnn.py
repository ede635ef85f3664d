"""A language model of characters: two layers of LSTM read a text and learn to write more of it.

The text is long, and gradients are not: each step goes back over a few characters, and starts in the state in which the
step before ended, kept in variables (truncated backpropagation through time). Sentences are written by a
`tf.while_loop` in the graph: each character it draws is what its next iteration reads.
The text is made up: "a dog that likes two cats sleeps." Whether the last verb takes an s depends on the first noun, not
on the one just before, so whoever writes correct sentences must remember.

    python examples/char_rnn.py --steps 600 --size 64
"""

import argparse
import collections
import re

import numpy as np
from tqdm import trange

import thalweg as tf

NOUNS = ("cat", "dog", "horse", "king", "sailor", "baker")
MANY = ("two", "three", "some")
DOES = ("likes", "sees", "follows", "knows")
ACTS = ("sleeps", "sings", "swims", "wanders")
STREAMS = 32  # pieces of text that are read side by side
WINDOW = 24  # characters that gradients go back over


def text(sentences, rng):
    """Returns sentences of the grammar, a line each."""

    def phrase(several):
        return f"{rng.choice(MANY)} {rng.choice(NOUNS)}s" if several else f"a {rng.choice(NOUNS)}"

    def verb(words, several):
        return rng.choice(words)[: -1 if several else None]

    def sentence(several, others, long):
        aside = f" that {verb(DOES, several)} {phrase(others)}" if long else ""
        return f"{phrase(several)}{aside} {verb(ACTS, several)}.\n"

    return "".join(sentence(*choices) for choices in rng.integers(2, size=(sentences, 3)))


def grammar():
    """Returns the pattern of a correct sentence."""
    nouns, does, acts = ("|".join(word.rstrip("s") for word in words) for words in (NOUNS, DOES, ACTS))
    one, several = f"a (?:{nouns})", f"(?:{'|'.join(MANY)}) (?:{nouns})s"
    forms = [
        f"{subject}(?: that (?:{does}){s} (?:{one}|{several}))? (?:{acts}){s}[.]"
        for subject, s in ((one, "s"), (several, ""))
    ]
    return re.compile("|".join(forms))


def kept_state(size):
    """Returns the state of a layer as variables: where one step leaves them, the next begins."""
    memory, output = (tf.Variable(tf.zeros([STREAMS, size]), trainable=False, use_resource=True) for _ in range(2))
    return tf.nn.rnn_cell.LSTMStateTuple(memory, output)


class Model:
    """The network, the step that trains it, and sentences of its own."""

    def __init__(self, alphabet, size, layers=2, rate=0.01):
        self.alphabet = alphabet
        self.embedding = tf.get_variable("embedding", [len(alphabet), size])
        self.cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(size) for _ in range(layers)])
        self.logits = tf.layers.Dense(len(alphabet), name="logits")

        self.text = tf.placeholder(tf.int32, [STREAMS, WINDOW + 1], name="text")
        inputs = tf.nn.embedding_lookup(self.embedding, self.text[:, :-1])
        before = tuple(kept_state(size) for _ in range(layers))
        hidden, after = tf.nn.dynamic_rnn(self.cell, inputs, initial_state=before, scope="lstm")
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.text[:, 1:], logits=self.logits(hidden))
        self.loss = tf.reduce_mean(losses)

        carry = [old.assign(new) for olds, news in zip(before, after) for old, new in zip(olds, news)]
        optimizer = tf.train.AdamOptimizer(rate)
        gradients, variables = zip(*optimizer.compute_gradients(self.loss))
        clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.train = tf.group(optimizer.apply_gradients(zip(clipped, variables)), *carry)

    def writing(self, writers, length):
        """Returns strings of so many characters, each of which is drawn and then read."""

        def write(time, last, state, written):
            with tf.variable_scope("lstm", reuse=True):
                hidden, state = self.cell(tf.nn.embedding_lookup(self.embedding, last), state)
            drawn = tf.multinomial(self.logits(hidden), 1, output_dtype=tf.int32)[:, 0]
            return time + 1, drawn, state, written.write(time, drawn)

        first = tf.fill([writers], self.alphabet.index("\n"))
        state, written = self.cell.zero_state(writers, tf.float32), tf.TensorArray(tf.int32, length)
        loop = tf.while_loop(lambda time, *_: time < length, write, (0, first, state, written), back_prop=False)
        return tf.reduce_join(tf.gather(list(self.alphabet), loop[-1].stack()), axis=0)


def main(argv=None):
    parser = argparse.ArgumentParser(description="A language model of characters, which writes sentences.")
    parser.add_argument("--steps", type=int, default=600, help="training steps (%(default)s)")
    parser.add_argument("--size", type=int, default=64, help="units in each of the two layers (%(default)s)")
    options = parser.parse_args(argv)

    rng = np.random.default_rng(1)
    characters = text(6000, rng)
    alphabet = "".join(sorted(set(characters)))
    counts = np.array(list(collections.Counter(characters).values()))
    guess = -np.sum(counts * np.log(counts / counts.sum())) / counts.sum()  # knowing how frequent each character is
    ids = np.array([alphabet.index(c) for c in characters], np.int32)
    streams = ids[: len(ids) // STREAMS * STREAMS].reshape(STREAMS, -1)
    places = range(0, streams.shape[1] - WINDOW, WINDOW)

    tf.set_random_seed(1)
    model = Model(alphabet, options.size)
    written = model.writing(writers=20, length=400)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = []
        for step in (progress := trange(options.steps, desc="reading", unit="step")):
            place = places[step % len(places)]
            losses.append(sess.run([model.loss, model.train], {model.text: streams[:, place : place + WINDOW + 1]})[0])
            progress.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
        # A writer begins and ends in the middle of a sentence.
        lines = [line for piece in sess.run(written) for line in piece.decode().split("\n")[1:-1]]

    correct = grammar()
    right = [bool(correct.fullmatch(line)) for line in lines]
    long = [good for good, line in zip(right, lines) if " that " in line]
    loss = np.mean(losses[-20:])
    print(*lines[:6], sep="\n")
    print(f"nats per character: {loss:.2f}; by how frequent each character is: {guess:.2f}")
    print(f"{np.mean(right):.0%} of {len(lines)} sentences are correct, and of those with an aside {np.mean(long):.0%}")
    return {"loss": loss, "guess": guess, "right": np.mean(right), "long": np.mean(long)}


if __name__ == "__main__":
    main()
