"""Data sets of tutorials, read from files of the local cache."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "**kwargs": "`nb_words`, the older name of `num_words`.",
    "index_from": "What is added to the number of each word.",
    "label_mode": '"fine" for a hundred classes, "coarse" for twenty.',
    "maxlen": "Texts of this length and longer ones are left out.",
    "num_words": "Number of the most frequent words to keep; None keeps all.",
    "oov_char": "Number in the place of words that are left out; None removes them.",
    "path": "Name of the file in `~/.keras/datasets`, or the absolute path of one of your own.",
    "seed": "Seed of the order.",
    "skip_top": "Number of the most frequent words to leave out.",
    "start_char": "Number at the start of each text; None for none.",
    "test_split": "Fraction of the examples that is for a test.",
}
