"""Cases of Keras layers, for TensorFlow's answers and for the tests that compare with them; imports neither."""

import numpy as np

FIRST = "channels_first"


def case(layer, *shapes, call=None, masks=None, integers=None, **arguments):
    """Returns a case: a layer with its arguments, the shapes of its inputs, and how it is called.

    integers: inputs are integers below this number
    masks: one string of 0 and 1 for each step of each example, or None, for each input
    """
    return {
        "layer": layer,
        "arguments": arguments,
        "shapes": shapes,
        "call": call or {},
        "masks": masks,
        "integers": integers,
    }


_LINE, _IMAGE, _VOLUME = (2, 7, 3), (2, 7, 6, 3), (2, 5, 4, 6, 3)
_LINE_1, _IMAGE_1, _VOLUME_1 = (2, 3, 7), (2, 3, 7, 6), (2, 3, 5, 4, 6)
_TRAINING, _INFERENCE = {"training": True}, {"training": False}

CONVOLUTIONS = [
    case("Conv1D", _LINE, filters=4, kernel_size=3),
    case("Conv1D", _LINE, filters=4, kernel_size=3, strides=2, padding="same", activation="relu"),
    case("Conv1D", _LINE, filters=2, kernel_size=2, dilation_rate=2, padding="causal", use_bias=False),
    case("Conv1D", _LINE_1, filters=4, kernel_size=3, data_format=FIRST, activation="tanh"),
    case("Conv2D", _IMAGE, filters=4, kernel_size=3),
    case("Conv2D", _IMAGE, filters=4, kernel_size=(3, 2), strides=(2, 1), padding="same", activation="sigmoid"),
    case("Conv2D", _IMAGE, filters=2, kernel_size=2, dilation_rate=(2, 2)),
    case("Conv2D", _IMAGE_1, filters=4, kernel_size=3, data_format=FIRST, padding="same"),
    case("Conv3D", _VOLUME, filters=2, kernel_size=2, strides=2),
    case("Conv3D", _VOLUME, filters=2, kernel_size=(1, 2, 3), padding="same", use_bias=False, activation="elu"),
    case("Conv3D", _VOLUME_1, filters=2, kernel_size=2, data_format=FIRST),
    case("Conv2DTranspose", _IMAGE, filters=4, kernel_size=3),
    case("Conv2DTranspose", _IMAGE, filters=4, kernel_size=3, strides=2, padding="same", activation="relu"),
    case("Conv2DTranspose", _IMAGE, filters=2, kernel_size=3, strides=(2, 3), output_padding=(1, 2)),
    case("Conv2DTranspose", _IMAGE, filters=2, kernel_size=3, strides=2, output_padding=1, padding="same"),
    case("Conv2DTranspose", _IMAGE, filters=2, kernel_size=2, dilation_rate=2),
    case("Conv2DTranspose", _IMAGE_1, filters=4, kernel_size=2, strides=2, data_format=FIRST),
    case("Conv3DTranspose", _VOLUME, filters=2, kernel_size=2, strides=2, padding="same"),
    case("Conv3DTranspose", _VOLUME, filters=2, kernel_size=3, strides=2, output_padding=1, use_bias=False),
    case("Conv3DTranspose", _VOLUME_1, filters=2, kernel_size=2, data_format=FIRST),
    case("SeparableConv1D", _LINE, filters=4, kernel_size=3, depth_multiplier=2),
    case("SeparableConv1D", _LINE, filters=4, kernel_size=2, padding="same", strides=2, activation="relu"),
    case("SeparableConv1D", _LINE, filters=4, kernel_size=2, padding="causal", dilation_rate=2),
    case("SeparableConv2D", _IMAGE, filters=4, kernel_size=(3, 2), depth_multiplier=2),
    case("SeparableConv2D", _IMAGE, filters=4, kernel_size=2, strides=2, padding="same", use_bias=False),
    case("SeparableConv2D", _IMAGE_1, filters=4, kernel_size=2, data_format=FIRST),
    case("DepthwiseConv2D", _IMAGE, kernel_size=3, depth_multiplier=2),
    case("DepthwiseConv2D", _IMAGE, kernel_size=2, strides=(2, 2), padding="same", activation="tanh"),
    case("DepthwiseConv2D", _IMAGE, kernel_size=2, dilation_rate=(2, 2), use_bias=False),
    case("DepthwiseConv2D", _IMAGE_1, kernel_size=2, data_format=FIRST),
    case("LocallyConnected1D", _LINE, filters=4, kernel_size=3, strides=2, activation="tanh"),
    case("LocallyConnected1D", _LINE_1, filters=2, kernel_size=2, data_format=FIRST),
    case("LocallyConnected2D", _IMAGE, filters=4, kernel_size=(3, 2), strides=(2, 1)),
    case("LocallyConnected2D", _IMAGE, filters=2, kernel_size=2, use_bias=False),
    case("LocallyConnected2D", _IMAGE_1, filters=2, kernel_size=(2, 3), data_format=FIRST),
]

SPATIAL = [
    case("UpSampling1D", _LINE, size=3),
    case("UpSampling2D", _IMAGE),
    case("UpSampling2D", _IMAGE, size=(2, 3), interpolation="bilinear"),
    case("UpSampling2D", _IMAGE_1, size=(3, 2), data_format=FIRST),
    case("UpSampling2D", _IMAGE_1, data_format=FIRST, interpolation="bilinear"),
    case("UpSampling3D", _VOLUME, size=(2, 1, 3)),
    case("UpSampling3D", _VOLUME_1, data_format=FIRST),
    case("ZeroPadding1D", _LINE),
    case("ZeroPadding1D", _LINE, padding=(0, 2)),
    case("ZeroPadding2D", _IMAGE),
    case("ZeroPadding2D", _IMAGE, padding=2),
    case("ZeroPadding2D", _IMAGE_1, padding=((1, 0), (2, 1)), data_format=FIRST),
    case("ZeroPadding3D", _VOLUME, padding=(1, 0, 2)),
    case("ZeroPadding3D", _VOLUME_1, padding=((1, 0), (0, 1), (1, 1)), data_format=FIRST),
    case("Cropping1D", _LINE),
    case("Cropping1D", _LINE, cropping=(0, 3)),
    case("Cropping2D", _IMAGE),
    case("Cropping2D", _IMAGE, cropping=2),
    case("Cropping2D", _IMAGE_1, cropping=((1, 0), (0, 2)), data_format=FIRST),
    case("Cropping3D", _VOLUME),
    case("Cropping3D", _VOLUME_1, cropping=(1, 0, 2), data_format=FIRST),
    case("MaxPooling1D", _LINE),
    case("MaxPooling1D", _LINE_1, pool_size=3, strides=2, padding="same", data_format=FIRST),
    case("MaxPooling2D", _IMAGE),
    case("MaxPooling2D", _IMAGE, pool_size=(3, 2), strides=1, padding="same"),
    case("MaxPooling2D", _IMAGE_1, pool_size=3, strides=2, data_format=FIRST),
    case("MaxPooling3D", _VOLUME),
    case("MaxPooling3D", _VOLUME_1, pool_size=(2, 1, 3), data_format=FIRST),
    case("AveragePooling1D", _LINE, pool_size=3, strides=2, padding="same"),
    case("AveragePooling1D", _LINE_1, data_format=FIRST),
    case("AveragePooling2D", _IMAGE, pool_size=(3, 2), strides=2, padding="same"),
    case("AveragePooling2D", _IMAGE_1, data_format=FIRST),
    case("AveragePooling3D", _VOLUME),
    case("AveragePooling3D", _VOLUME_1, pool_size=(2, 1, 3), padding="same", data_format=FIRST),
    case("GlobalAveragePooling1D", _LINE),
    case("GlobalAveragePooling1D", _LINE_1, data_format=FIRST),
    case("GlobalAveragePooling1D", _LINE, masks=[["1110000", "1010101"]]),
    case("GlobalMaxPooling1D", _LINE),
    case("GlobalMaxPooling1D", _LINE_1, data_format=FIRST),
    case("GlobalAveragePooling2D", _IMAGE),
    case("GlobalAveragePooling2D", _IMAGE_1, data_format=FIRST),
    case("GlobalMaxPooling2D", _IMAGE),
    case("GlobalMaxPooling2D", _IMAGE_1, data_format=FIRST),
    case("GlobalAveragePooling3D", _VOLUME),
    case("GlobalMaxPooling3D", _VOLUME_1, data_format=FIRST),
]

NORMALIZATIONS = [
    *(
        case("BatchNormalization", shape, call=call, **arguments)
        for call in (_TRAINING, _INFERENCE)
        for shape, arguments in (
            ((4, 5), {}),
            ((4, 5), {"momentum": 0.7, "epsilon": 0.1, "center": False}),
            ((4, 3, 5), {"axis": 1, "scale": False}),
            ((4, 3, 2, 5), {}),
            ((4, 3, 2, 5), {"axis": 1}),
            ((4, 3, 2, 5), {"axis": [1, 3]}),
            ((4, 3, 2, 5), {"fused": False, "momentum": 0.5}),
            ((4, 5), {"virtual_batch_size": 2}),
        )
    ),
    case("BatchNormalization", (4, 5)),
    case("BatchNormalization", (4, 6, 5), masks=[["111000", "110000", "100000", "111111"]], call=_INFERENCE),
    case("LayerNormalization", (4, 5)),
    case("LayerNormalization", (4, 3, 5), axis=1, epsilon=0.1, center=False),
    case("LayerNormalization", (4, 3, 5), axis=[1, 2], scale=False),
    case("LayerNormalization", (4, 3, 2, 5), axis=(-1, -3)),
    case("LayerNormalization", (2, 3, 5), masks=[["110", "100"]]),
]

MERGES = [
    *(case(name, (2, 3, 4), (2, 3, 4)) for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")),
    *(case(name, (2, 3, 4), (2, 3, 4), (2, 1, 4)) for name in ("Add", "Multiply", "Average", "Maximum", "Minimum")),
    *(case(name, (2, 3, 4), (2, 4)) for name in ("Add", "Subtract", "Multiply", "Maximum")),
    case("Add", (2, 3, 4), (2, 3, 4), masks=[["110", "100"], ["011", "111"]]),
    case("Multiply", (2, 3, 4), (2, 3, 4), masks=[["110", "100"], None]),
    case("Concatenate", (2, 3, 4), (2, 3, 2)),
    case("Concatenate", (2, 3, 4), (2, 1, 4), (2, 2, 4), axis=1),
    case("Concatenate", (2, 3, 4), (2, 2, 4), axis=1, masks=[["110", "100"], ["01", "11"]]),
    case("Concatenate", (2, 3, 4), (2, 3, 2), masks=[["110", "100"], None]),
    case("Concatenate", (2, 3, 4), (2, 3, 2), masks=[["110", "100"], ["011", "111"]]),
    case("Dot", (2, 4), (2, 4), axes=1),
    case("Dot", (2, 3, 4), (2, 5, 4), axes=2),
    case("Dot", (2, 3, 4), (2, 4, 5), axes=(2, 1), normalize=True),
    case("Dot", (2, 3, 4), (2, 4), axes=(-1, 1)),
    case("Dot", (2, 3, 4), (2, 5, 4), axes=-1, masks=[["110", "100"], ["01111", "11111"]]),
]

OTHERS = [
    case("Embedding", (2, 3), integers=7, input_dim=7, output_dim=4),
    case("Embedding", (2, 5), integers=3, input_dim=3, output_dim=2, mask_zero=True, input_length=5),
    case("LeakyReLU", (2, 5)),
    case("LeakyReLU", (2, 5), alpha=0.1),
    case("PReLU", (2, 3, 5)),
    case("PReLU", (2, 3, 4, 5), shared_axes=[1, 2]),
    case("ELU", (2, 5)),
    case("ELU", (2, 5), alpha=0.5),
    case("ThresholdedReLU", (2, 5)),
    case("ThresholdedReLU", (2, 5), theta=0.2),
    case("Softmax", (2, 5)),
    case("Softmax", (2, 3, 5), axis=1),
    case("ReLU", (2, 5)),
    case("ReLU", (2, 5), max_value=0.5, negative_slope=0.2, threshold=0.1),
    case("ReLU", (2, 5), max_value=6.0),
    case("ReLU", (2, 5, 3), masks=[["11000", "10000"]]),
    *(case(name, (3, 5), call=_INFERENCE, rate=0.4) for name in ("GaussianDropout", "AlphaDropout")),
    case("GaussianNoise", (3, 5, 2), call=_INFERENCE, stddev=0.4, masks=[["11000", "10000", "11111"]]),
    case("SpatialDropout1D", _LINE, call=_INFERENCE, rate=0.4),
    case("SpatialDropout2D", _IMAGE, call=_INFERENCE, rate=0.4),
    case("SpatialDropout3D", _VOLUME_1, call=_INFERENCE, rate=0.4, data_format=FIRST),
    case("Attention", (2, 3, 4), (2, 5, 4)),
    case("Attention", (2, 3, 4), (2, 5, 6), (2, 5, 4), use_scale=True),
    case("Attention", (2, 3, 4), (2, 5, 4), masks=[["110", "100"], ["11000", "11111"]]),
    case("Attention", (2, 5, 4), (2, 5, 4), causal=True),
    case("Attention", (2, 5, 4), (2, 5, 4), causal=True, masks=[None, ["11000", "11111"]]),
    case("AdditiveAttention", (2, 3, 4), (2, 5, 4)),
    case("AdditiveAttention", (2, 3, 4), (2, 5, 4), use_scale=False),
    case("AdditiveAttention", (2, 3, 4), (2, 5, 4), causal=True, masks=[["110", "100"], ["11000", "11111"]]),
    case("Dense", (2, 3), units=4, activation="relu"),
    case("Dense", (2, 5, 3), units=4, use_bias=False, masks=[["11000", "10000"]]),
    case("Flatten", _IMAGE),
    case("Flatten", _IMAGE_1, data_format=FIRST),
    case("Reshape", (2, 6, 4), target_shape=(3, -1)),
    case("Permute", (2, 3, 4), dims=(2, 1)),
    case("RepeatVector", (2, 3), n=4),
    case("Activation", (2, 5), activation="tanh"),
    case("Masking", (2, 5, 3)),
    case("ActivityRegularization", (2, 5), l1=0.1, l2=0.2),
]

CASES = [*CONVOLUTIONS, *SPATIAL, *NORMALIZATIONS, *MERGES, *OTHERS]


def name_of(number):
    """Returns a name of a case for people."""
    found = CASES[number]
    described = [f"{key}={value}" for key, value in (*found["arguments"].items(), *found["call"].items())]
    shapes = "-".join("x".join(map(str, shape)) for shape in found["shapes"])
    return "_".join([found["layer"], shapes, *described, *(["masked"] if found["masks"] else [])]).replace(" ", "")


def inputs_of(number):
    """Returns the inputs of a case."""
    found, random = CASES[number], np.random.RandomState(number)
    if found["integers"]:
        return [random.randint(found["integers"], size=shape).astype("int32") for shape in found["shapes"]]
    return [random.uniform(-2, 2, shape).astype("float32") for shape in found["shapes"]]


def masks_of(number):
    """Returns the masks of the inputs of a case."""
    given = CASES[number]["masks"] or [None] * len(CASES[number]["shapes"])
    return [None if rows is None else np.array([[bit == "1" for bit in row] for row in rows]) for rows in given]


def weights_of(number, names_and_shapes):
    """Returns values for the weights of a case; variances are positive."""
    random = np.random.RandomState(1000 + number)
    made = []
    for name, shape in names_and_shapes:
        low = 0.2 if "variance" in name or "stddev" in name else -1
        made.append(random.uniform(low, 1, shape).astype("float32"))
    return made


def factors_of(number, shape):
    """Returns factors of the outputs, whose weighted sum is the loss that gradients are of."""
    return np.random.RandomState(2000 + number).uniform(-1, 1, shape).astype("float32")
