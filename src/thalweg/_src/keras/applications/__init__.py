"""Networks for images, as they were published: architectures, weights of ImageNet, preparation of images."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "alpha": "Factor of the number of filters of each layer.",
    "classes": "Number of classes of the classifier.",
    "data_format": '"channels_last", "channels_first", or None for that of `image_data_format`.',
    "depth_multiplier": "Number of outputs of each channel of depthwise convolutions.",
    "dropout": "Fraction that is dropped before the classifier in training.",
    "include_top": "Whether the network ends with its classifier.",
    "input_shape": "Shape of an image; without a classifier the sizes may be chosen.",
    "input_tensor": "A symbolic tensor to use as the image.",
    "mode": '"caffe", "tf" or "torch".',
    "pooling": 'What follows without a classifier: None, "avg" or "max" over all places.',
    "preds": "Probabilities of shape [images, 1000].",
    "top": "Number of classes to return.",
    "weights": '"imagenet" for those of ImageNet, the path of a file of weights, or None for random ones.',
    "x": "Images of values from 0 to 255: an array, which may be changed, or a tensor.",
}
