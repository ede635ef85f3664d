"""Word vectors: skip-gram with sampled softmax and sparse gradients.

A vocabulary has too many words to compute a softmax over all of them in every step: the loss compares the true word
with a few sampled ones. Embeddings and softmax weights are looked up, so their gradients are `tf.IndexedSlices`, and
Adagrad updates only those rows.
The text is synthetic: sentences such as "the hungry wolf eats fresh bread", in which words of one category are
interchangeable. The vectors should reflect these categories.

    python examples/word2vec.py --steps 1500 --size 32
"""

import argparse
import collections

import numpy as np
from tqdm import trange

import thalweg as tf

KINDS = {
    "animal": "cat dog wolf horse sheep mouse tiger rabbit",
    "person": "king farmer doctor teacher sailor baker painter child",
    "food": "bread cheese apple soup rice honey cake fish",
    "place": "village river castle forest harbour market mountain island",
    "day": "monday tuesday wednesday thursday friday saturday sunday yesterday",
    "mood": "hungry tired happy angry quiet proud lonely clever",
    "colour": "red green blue yellow white black golden grey",
    "eats": "eats wants finds steals tastes carries",
    "goes": "walks runs travels returns hurries wanders",
}
SENTENCES = (
    "the mood animal eats colour food",
    "on day the mood animal goes to the place",
    "the person eats food at the colour place",
    "every day the person goes from place to place",
    "the mood person sees a colour animal on day",
)
SHOWN = ("wolf", "doctor", "cheese", "harbour", "friday", "golden")


def corpus(sentences, rng):
    """Returns a list of sentences, each a list of words; some words are more frequent than others."""
    words = {kind: names.split() for kind, names in KINDS.items()}
    share = {kind: (p := 1 / (2.0 + np.arange(len(names)))) / p.sum() for kind, names in words.items()}
    patterns = [pattern.split() for pattern in SENTENCES]
    return [
        [str(rng.choice(words[w], p=share[w])) if w in words else w for w in patterns[rng.integers(len(patterns))]]
        for _ in range(sentences)
    ]


def skip_grams(sentences, ids, window):
    """Returns pairs of a word and one of its neighbours."""
    return np.array(
        [
            (ids[word], ids[sentence[j]])
            for sentence in sentences
            for i, word in enumerate(sentence)
            for j in range(max(0, i - window), min(len(sentence), i + window + 1))
            if i != j
        ]
    )


def build(inputs, labels, words, size, sampled):
    """Returns the mean loss, the training step, the gradients and the table of vectors."""
    embeddings = tf.get_variable("embeddings", [words, size], initializer=tf.random_uniform_initializer(-0.5, 0.5))
    weights = tf.get_variable("weights", [words, size], initializer=tf.zeros_initializer())
    biases = tf.get_variable("biases", [words], initializer=tf.zeros_initializer())
    looked_up = tf.nn.embedding_lookup(embeddings, inputs)
    losses = tf.nn.sampled_softmax_loss(
        weights, biases, tf.expand_dims(labels, 1), looked_up, num_sampled=sampled, num_classes=words
    )
    loss = tf.reduce_mean(losses)
    optimizer = tf.train.AdagradOptimizer(0.5)
    gradients = optimizer.compute_gradients(loss)
    return loss, optimizer.apply_gradients(gradients), [g for g, _ in gradients], embeddings


def main(argv=None):
    parser = argparse.ArgumentParser(description="Word vectors by skip-gram and sampled softmax.")
    parser.add_argument("--steps", type=int, default=1500, help="training steps (%(default)s)")
    parser.add_argument("--size", type=int, default=32, help="numbers in a word's vector (%(default)s)")
    parser.add_argument("--sampled", type=int, default=16, help="words sampled for the softmax (%(default)s)")
    parser.add_argument("--sentences", type=int, default=3000, help="length of the text (%(default)s)")
    options = parser.parse_args(argv)

    rng = np.random.default_rng(1)
    sentences = corpus(options.sentences, rng)
    # Frequent words first: the sampler draws low numbers more often.
    vocabulary = [w for w, _ in collections.Counter(w for s in sentences for w in s).most_common()]
    pairs = skip_grams(sentences, {word: i for i, word in enumerate(vocabulary)}, window=3)

    tf.set_random_seed(1)
    inputs = tf.placeholder(tf.int64, [None], name="inputs")
    labels = tf.placeholder(tf.int64, [None], name="labels")
    loss, train, gradients, embeddings = build(inputs, labels, len(vocabulary), options.size, options.sampled)
    unit = tf.nn.l2_normalize(embeddings, axis=1)
    similarity = tf.matmul(unit, unit, transpose_b=True)
    nearest = tf.nn.top_k(tf.matrix_set_diag(similarity, tf.fill([len(vocabulary)], -1.0)), k=4).indices

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in (progress := trange(options.steps, desc="training", unit="step")):
            batch = pairs[rng.integers(len(pairs), size=128)]
            value = sess.run([loss, train], {inputs: batch[:, 0], labels: batch[:, 1]})[0]
            progress.set_postfix(loss=f"{value:.3f}", refresh=False)
        rows = [len(np.unique(g.indices)) for g in sess.run(gradients, {inputs: batch[:8, 0], labels: batch[:8, 1]})]
        neighbours = [[vocabulary[i] for i in row] for row in sess.run(nearest)]

    kind_of = {word: kind for kind, names in KINDS.items() for word in names.split()}
    found = dict(zip(vocabulary, neighbours))
    for word in SHOWN:
        print(f"{word:>10}  is like  {', '.join(found[word])}")
    right = np.mean([kind_of.get(n) == kind_of[w] for w in vocabulary if w in kind_of for n in found[w]])
    print(f"{right:.1%} of the four nearest of {len(kind_of)} words are of the same kind (by chance: about 10%)")
    print(f"the gradients of 8 pairs touch {rows[0]} rows of the embeddings and {rows[1]} of the softmax weights")
    return {"right": right, "sparse": all(isinstance(g, tf.IndexedSlices) for g in gradients), "rows": rows}


if __name__ == "__main__":
    main()
