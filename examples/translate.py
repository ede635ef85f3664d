"""Sequence to sequence: translates dates as people write them to ISO dates.

An encoder reads "march 12, 1998" in both directions. A decoder writes "1998-03-12" character by character, with
attention to the encoder's outputs. During training the decoder is fed the correct characters so far
(`TrainingHelper`), at inference its own output (`GreedyEmbeddingHelper`).
In the data "3/4/1998" is the third of April or the fourth of March. A single answer cannot express this; beam search,
which keeps the best few candidates at every character, finds both.

    python examples/translate.py --steps 400 --size 64
"""

import argparse
import datetime

import numpy as np
from tqdm import trange

import thalweg as tf

seq2seq = tf.contrib.seq2seq

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
END, START = 0, 1
SYMBOLS = "\n>" + " ,-/" + "0123456789" + "abcdefghijklmnopqrstuvwxyz"
LENGTH = len("1998-03-12") + 1  # and the end token
BATCH = 64
BEAMS = 3
FIRST, DAYS = datetime.date(1930, 1, 1), 40_000


def written(day, form):
    """Returns a date in one of four formats, the last two of which are ambiguous."""
    month = MONTHS[day.month - 1]
    forms = (
        f"{day.day} {month[:3]} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.day}/{day.month}/{day.year}",
        f"{day.month}/{day.day}/{day.year}",
    )
    return forms[form]


def examples(count, rng, forms=4):
    """Returns dates in a random format and in ISO format."""
    days = [FIRST + datetime.timedelta(int(n)) for n in rng.integers(DAYS, size=count)]
    return [written(day, form) for day, form in zip(days, rng.integers(forms, size=count))], [str(d) for d in days]


def encoded(texts):
    """Returns texts as numbers, padded with END, and their lengths."""
    lengths = np.array([len(text) for text in texts], np.int32)
    ids = np.full((len(texts), lengths.max() + 1), END, np.int32)
    for row, text in zip(ids, texts):
        row[: len(text)] = [SYMBOLS.index(c) for c in text]
    return ids, lengths


def decoded(ids):
    """Returns the texts of rows of numbers."""
    return ["".join(SYMBOLS[i] for i in row).split(SYMBOLS[END])[0] for row in ids]


class Translator:
    """Encoder and decoder, and three ways to run the decoder: teacher forcing, greedy decoding, beam search."""

    def __init__(self, size, rate=0.01):
        self.size = size
        self.source = tf.placeholder(tf.int32, [None, None], name="source")
        self.lengths = tf.placeholder(tf.int32, [None], name="lengths")
        self.target = tf.placeholder(tf.int32, [None, LENGTH], name="target")
        self.batch = tf.size(self.lengths)
        self.embedding = tf.get_variable("embedding", [len(SYMBOLS), size])
        self.memory, self.state = self.encode()

        starts = tf.fill([self.batch], START)
        given = self.look_up(tf.concat([tf.expand_dims(starts, 1), self.target[:, :-1]], 1))
        helper = seq2seq.TrainingHelper(given, tf.fill([self.batch], LENGTH))
        logits = self.decode(lambda cell, state, logits: seq2seq.BasicDecoder(cell, helper, state, logits)).rnn_output
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.target, logits=logits)
        self.loss = tf.reduce_mean(losses)
        self.train = tf.train.AdamOptimizer(rate).minimize(self.loss)

        greedy = seq2seq.GreedyEmbeddingHelper(self.look_up, starts, END)
        self.best = self.decode(lambda cell, state, logits: seq2seq.BasicDecoder(cell, greedy, state, logits)).sample_id
        self.several = self.decode(
            lambda cell, state, logits: seq2seq.BeamSearchDecoder(
                cell, self.look_up, starts, END, state, BEAMS, output_layer=logits
            ),
            BEAMS,
        ).predicted_ids

    def look_up(self, ids):
        return tf.nn.embedding_lookup(self.embedding, ids)

    def encode(self):
        """Returns the memory that the decoder attends to, one vector per character, and its initial state."""
        forward, backward = (tf.nn.rnn_cell.GRUCell(self.size // 2) for _ in range(2))
        outputs, states = tf.nn.bidirectional_dynamic_rnn(
            forward, backward, self.look_up(self.source), self.lengths, dtype=tf.float32
        )
        return tf.concat(outputs, 2), tf.concat(states, 1)

    def decode(self, decoder, beams=1):
        """Runs decoder(cell, initial state, output layer); all decoders share their weights."""
        with tf.variable_scope("decoder", reuse=tf.AUTO_REUSE) as scope:
            memory, lengths, state = seq2seq.tile_batch((self.memory, self.lengths, self.state), beams)
            attention = seq2seq.LuongAttention(self.size, memory, lengths)
            cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(self.size), attention, self.size)
            state = cell.zero_state(self.batch * beams, tf.float32).clone(cell_state=state)
            made = decoder(cell, state, tf.layers.Dense(len(SYMBOLS), name="logits"))
            return seq2seq.dynamic_decode(made, maximum_iterations=LENGTH, scope=scope)[0]


def main(argv=None):
    parser = argparse.ArgumentParser(description="Dates, translated by an encoder, a decoder and attention.")
    parser.add_argument("--steps", type=int, default=400, help="training steps (%(default)s)")
    parser.add_argument("--size", type=int, default=64, help="units of encoder and decoder (%(default)s)")
    options = parser.parse_args(argv)

    tf.set_random_seed(1)
    rng = np.random.default_rng(1)
    model = Translator(options.size)

    def feed(sources, targets=()):
        ids, lengths = encoded(sources)
        given = {model.source: ids, model.lengths: lengths}
        return {**given, model.target: encoded(targets)[0]} if targets else given

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in (progress := trange(options.steps, desc="learning", unit="step")):
            loss = sess.run([model.loss, model.train], feed(*examples(BATCH, rng)))[0]
            progress.set_postfix(loss=f"{loss:.3f}", refresh=False)
        sources, targets = examples(500, rng, forms=2)
        answers = decoded(sess.run(model.best, feed(sources)))
        doubtful = [(*rng.choice(12, 2, replace=False) + 1, year) for year in range(1940, 2030)]
        beams = [decoded(ids.T) for ids in sess.run(model.several, feed(["{}/{}/{}".format(*d) for d in doubtful]))]

    readings = [{f"{y}-{a:02}-{b:02}", f"{y}-{b:02}-{a:02}"} for a, b, y in doubtful]
    right = np.mean([answer == target for answer, target in zip(answers, targets)])
    both = np.mean([pair <= set(found) for pair, found in zip(readings, beams)])
    for source, answer in zip(sources[:5], answers):
        print(f"{source:>18}  is  {answer}")
    for (a, b, year), found in zip(doubtful[:3], beams):
        print(f"{f'{a}/{b}/{year}':>18}  is  {', or '.join(found)}")
    print(f"{right:.1%} of {len(answers)} new dates are right to the last character")
    print(f"of {len(doubtful)} dates with two meanings, both are among the best {BEAMS} in {both:.0%}")
    return {"loss": loss, "right": right, "both": both}


if __name__ == "__main__":
    main()
