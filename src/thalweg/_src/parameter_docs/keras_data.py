"""Texts of parameters of Keras's networks and data sets, images, wrappers, drawings and workers."""

from __future__ import annotations

PARAMETERS: dict[str, str] = {}

SCOPED: dict[str, dict[str, str]] = {
    "keras.applications.": {
        "include_top": "Whether the network ends with its classifier.",
        "weights": '"imagenet" for those of ImageNet, the path of a file of weights, or None for random ones.',
        "input_tensor": "A symbolic tensor to use as the image.",
        "input_shape": "Shape of an image; without a classifier the sizes may be chosen.",
        "pooling": 'What follows without a classifier: None, "avg" or "max" over all places.',
        "classes": "Number of classes of the classifier.",
        "alpha": "Factor of the number of filters of each layer.",
        "depth_multiplier": "Number of outputs of each channel of depthwise convolutions.",
        "dropout": "Fraction that is dropped before the classifier in training.",
        "x": "Images of values from 0 to 255: an array, which may be changed, or a tensor.",
        "data_format": '"channels_last", "channels_first", or None for that of `image_data_format`.',
        "mode": '"caffe", "tf" or "torch".',
        "preds": "Probabilities of shape [images, 1000].",
        "top": "Number of classes to return.",
    },
    "keras.datasets.": {
        "path": "Name of the file in `~/.keras/datasets`, or the absolute path of one of your own.",
        "label_mode": '"fine" for a hundred classes, "coarse" for twenty.',
        "num_words": "Number of the most frequent words to keep; None keeps all.",
        "skip_top": "Number of the most frequent words to leave out.",
        "maxlen": "Texts of this length and longer ones are left out.",
        "seed": "Seed of the order.",
        "start_char": "Number at the start of each text; None for none.",
        "oov_char": "Number in the place of words that are left out; None removes them.",
        "index_from": "What is added to the number of each word.",
        "test_split": "Fraction of the examples that is for a test.",
        "**kwargs": "`nb_words`, the older name of `num_words`.",
    },
    "keras.utils.get_source_inputs": {
        "tensor": "A symbolic tensor.",
        "layer": "Layer that has computed it; found by default.",
        "node_index": "Number of the call of that layer.",
    },
}
