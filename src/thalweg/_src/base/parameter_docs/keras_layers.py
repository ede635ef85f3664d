"""Texts of parameters of Keras's layers, without the recurrent ones."""

from __future__ import annotations

PARAMETERS: dict[str, str] = {}

_NORMALIZATIONS = "keras.layers.BatchNormalization keras.layers.LayerNormalization"
_PADDINGS = "keras.layers.ZeroPadding1D keras.layers.ZeroPadding2D keras.layers.ZeroPadding3D"
_CROPPINGS = "keras.layers.Cropping1D keras.layers.Cropping2D keras.layers.Cropping3D"
_UPSAMPLINGS = "keras.layers.UpSampling1D keras.layers.UpSampling2D keras.layers.UpSampling3D"
_TRANSPOSED = "keras.layers.Conv2DTranspose keras.layers.Conv3DTranspose"
_FUNCTIONS = (
    "keras.layers.add keras.layers.subtract keras.layers.multiply keras.layers.average keras.layers.maximum "
    "keras.layers.minimum keras.layers.concatenate keras.layers.dot"
)

SCOPED: dict[str, dict[str, str]] = {
    "keras.layers.": {
        "**kwargs": "Further arguments of `tf.keras.layers.Layer`, such as `name`, `dtype` and `input_shape`.",
        "trainable": "Whether the variables are trained.",
        "name": "Name of the layer; by default one of the name of the class.",
        "dtype": "Type of the variables; by default that of the first input.",
        "dynamic": "Whether the layer can only run eagerly.",
        "units": "Number of output units.",
        "activation": "Function applied to the result, or its name; None applies none.",
        "kernel_initializer": "Initializer of the kernel, or its name.",
        "bias_initializer": "Initializer of the bias, or its name.",
        "data_format": '"channels_last" or "channels_first"; None takes `tf.keras.backend.image_data_format()`.',
        "filters": "Number of output channels.",
        "kernel_size": "Size of the kernel along each spatial dimension, or one number for all.",
        "strides": "Step of the window along each spatial dimension, or one number for all.",
        "padding": '"valid", or "same" to pad with zeros so that strides alone decide the output size.',
        "output_padding": "Further output size along each spatial dimension; None takes the smallest size that fits.",
        "implementation": '1, 2 or 3: how TensorFlow computes it; 2 and 3 allow the padding "same".',
        "rate": "Fraction of the inputs that is dropped.",
        "noise_shape": "Shape of the random mask, which broadcasts to the input; None takes the input's shape.",
        "seed": "Seed of the random mask.",
        "stddev": "Standard deviation of the noise.",
        "axis": "The axis, or a list of axes.",
        "momentum": "Momentum of the moving averages.",
        "use_scale": "Whether the scores are multiplied by a trained factor.",
    },
    "keras.layers.Conv1D keras.layers.SeparableConv1D": {
        "padding": '"valid", "same" or "causal", which pads before the sequence so that no output sees later inputs.'
    },
    "keras.layers.Reshape": {"target_shape": "Shape of an example; -1 stands for what is left."},
    "keras.layers.Permute": {"dims": "The dimensions in their new order; that after the batch has number 1."},
    "keras.layers.RepeatVector": {"n": "How often each vector is repeated."},
    "keras.layers.Masking": {"mask_value": "The value of all features of a step that is masked."},
    "keras.layers.ActivityRegularization": {
        "l1": "Factor of the sum of absolute values.",
        "l2": "Factor of the sum of squares.",
    },
    "keras.layers.Lambda": {
        "function": "Function of the inputs, and of `mask` and `training` if it has these parameters.",
        "output_shape": "Shape of an example of the output, or a function from the input shape to the output shape.",
        "mask": "Mask of the outputs, or a function of the inputs and their mask that returns it.",
        "arguments": "Further arguments of the function by name.",
    },
    "keras.layers.LeakyReLU": {"alpha": "Slope below 0."},
    "keras.layers.ELU": {"alpha": "Minus the limit of the result for large negative inputs."},
    "keras.layers.PReLU": {
        "alpha_initializer": "Initializer of the slopes below 0.",
        "alpha_regularizer": "Function from the slopes to a penalty.",
        "alpha_constraint": "Function that maps the updated slopes to allowed ones.",
        "shared_axes": "Axes along which the slope is the same; the axis after the batch has number 1.",
    },
    "keras.layers.ThresholdedReLU": {"theta": "Inputs up to this number become 0."},
    "keras.layers.Softmax": {"axis": "The axis, or a list of axes, whose elements sum to 1."},
    "keras.layers.ReLU": {
        "max_value": "Upper bound of the result; None sets none.",
        "negative_slope": "Slope below the threshold.",
        "threshold": "Inputs below it count as negative.",
    },
    "keras.layers.Embedding": {
        "input_dim": "Number of vectors: the largest integer plus one.",
        "output_dim": "Size of the vectors.",
        "embeddings_initializer": "Initializer of the vectors.",
        "embeddings_regularizer": "Function from all vectors to a penalty.",
        "embeddings_constraint": "Function that maps the updated vectors to allowed ones.",
        "mask_zero": "Whether steps with the integer 0 are masked.",
        "input_length": "Number of steps of all inputs, if it is known.",
    },
    "keras.layers.Concatenate keras.layers.concatenate": {"axis": "The axis along which the inputs follow each other."},
    "keras.layers.Dot keras.layers.dot": {
        "axes": "The axis of both inputs to sum over, or a pair of one for each.",
        "normalize": "Whether vectors along the axes are divided by their norms before.",
    },
    _FUNCTIONS: {
        "inputs": "The tensors, a list of two or more.",
        "**kwargs": "Arguments of the layer, such as `name`.",
    },
    "keras.layers.subtract keras.layers.dot": {"inputs": "Two tensors."},
    _NORMALIZATIONS: {"axis": "The axis to normalize, or a list of axes."},
    "keras.layers.BatchNormalization": {"axis": "The axis of the features, or a list of axes; each has its own mean."},
    _PADDINGS: {"padding": "Number of zeros before and after each spatial dimension: one, one for each, or pairs."},
    _CROPPINGS: {
        "cropping": "Number of elements to remove before and after each spatial dimension: one, one for each, or pairs."
    },
    _UPSAMPLINGS: {"size": "Factor of each spatial dimension."},
    "keras.layers.UpSampling2D": {"interpolation": '"nearest" or "bilinear".'},
    _TRANSPOSED: {"padding": '"valid" or "same".'},
    "keras.layers.serialize": {"layer": "The layer."},
    "keras.layers.deserialize": {
        "config": "A dictionary with the class and the configuration of a layer.",
        "custom_objects": "Objects of the program's own by name, which are looked up first.",
    },
}
