"""Layers with variables, as classes and as functions."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "**kwargs": "Further arguments of `tf.layers.Layer`, such as `dtype`.",
    "activation": "Function applied to the result; None applies none.",
    "axis": "The axis to normalize: that of the channels.",
    "bias_constraint": "Function that maps the updated bias to an allowed one.",
    "data_format": '"channels_last" or "channels_first".',
    "dilation_rate": "Distance between the elements of the kernel, one number or one for each dimension.",
    "kernel_constraint": "Function that maps the updated kernel to an allowed one.",
    "kernel_regularizer": "Function from the kernel to a penalty.",
    "kernel_size": "Size of the kernel along each spatial dimension, or one number for all.",
    "momentum": "Momentum of the moving averages.",
    "name": "Name of the layer.",
    "padding": '"same" pads with zeros so that strides alone decide the output size, "valid" does not pad.',
    "rate": "Fraction of the inputs to set to zero.",
    "seed": "Seed of the random mask.",
    "strides": "Step of the window along each spatial dimension, or one number for all.",
    "training": "Whether the layer behaves as in training: a Python bool or a boolean tensor.",
}
