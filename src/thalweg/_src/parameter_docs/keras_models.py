"""Texts of parameters of Keras models: layers' base class, networks, training, and files."""

from __future__ import annotations

PARAMETERS: dict[str, str] = {}
_MODELS = "keras.Model keras.models.Model keras.Sequential keras.models.Sequential"
SCOPED: dict[str, dict[str, str]] = {
    "keras.layers.Layer": {
        "trainable": "Whether the variables are trained.",
        "name": "Name of the layer; by default that of its class, with a number.",
        "dtype": "Type of the variables; by default that of the first inputs.",
        "dynamic": "Whether the layer can only run eagerly.",
        "**kwargs": "`input_shape`, `batch_input_shape`, `batch_size`, `weights`, `activity_regularizer`.",
    },
    "keras.layers.InputLayer": {
        "input_shape": "Shape of an example.",
        "batch_size": "Number of examples of a batch, None for any.",
        "dtype": "Type of the inputs.",
        "input_tensor": "A tensor to use in the place of a placeholder.",
        "sparse": "Whether the inputs are sparse tensors.",
        "name": "Name of the layer.",
        "**kwargs": "`batch_input_shape`.",
    },
    "keras.Input keras.layers.Input": {
        "shape": "Shape of an example.",
        "batch_size": "Number of examples of a batch, None for any.",
        "name": "Name of the input.",
        "dtype": "Type of the inputs.",
        "sparse": "Whether the inputs are sparse tensors.",
        "tensor": "A tensor to use in the place of a placeholder.",
        "**kwargs": "`batch_shape`.",
    },
    _MODELS: {
        "layers": "The layers.",
        "name": "Name of the model.",
        "inputs": "Symbolic inputs; None for a subclass.",
        "outputs": "Symbolic outputs; None for a subclass.",
        "**kwargs": "`trainable`, `dtype`, `dynamic`.",
    },
    "keras.models.": {
        "model": "The model.",
        "filepath": "Path of the file, or an open file of h5py.",
        "overwrite": "Whether a file that exists is replaced.",
        "include_optimizer": "Whether the state of the optimizer is saved as well.",
        "save_format": '"h5".',
        "signatures": "Not used by HDF5 files.",
        "custom_objects": "Classes and functions of the program, by their names in the description.",
        "compile": "Whether the model is compiled as it was.",
        "config": "The description: class name and configuration.",
        "json_string": "The description as JSON.",
        "input_tensors": "Tensors to use in the place of new inputs.",
        "clone_function": "Function from a layer to its copy.",
    },
    "keras.layers.Dense": {
        "units": "Number of output units.",
        "activation": "Function of the outputs, or its name.",
        "use_bias": "Whether a bias is added.",
    },
    "keras.layers.": {
        "activation": "Function of the outputs, or its name.",
        "use_bias": "Whether a bias is added.",
        "kernel_initializer": "Initializer of the kernel.",
        "bias_initializer": "Initializer of the bias.",
        "kernel_regularizer": "Penalty of the kernel.",
        "bias_regularizer": "Penalty of the bias.",
        "activity_regularizer": "Penalty of the outputs.",
        "kernel_constraint": "Constraint of the kernel.",
        "bias_constraint": "Constraint of the bias.",
        "**kwargs": "Options of every layer: `name`, `dtype`, `trainable`, `input_shape` ...",
    },
    "keras.layers.Dropout": {
        "rate": "Fraction of the inputs that is set to zero.",
        "noise_shape": "Shape of the random mask, which is broadcast to the inputs.",
        "seed": "Seed of the random numbers.",
    },
    "keras.layers.Flatten": {"data_format": 'Where images have their channels: "channels_last" or "channels_first".'},
    "keras.layers.Reshape": {"target_shape": "Shape of an example; one size may be -1."},
    "keras.layers.Permute": {"dims": "The new order of the dimensions, which are counted from 1."},
    "keras.layers.RepeatVector": {"n": "How often each vector is repeated."},
    "keras.layers.Masking": {"mask_value": "The value of all features in masked steps."},
    "keras.layers.ActivityRegularization": {"l1": "Factor of the L1 penalty.", "l2": "Factor of the L2 penalty."},
    "keras.callbacks.ProgbarLogger": {
        "count_mode": 'What the bar counts: "samples" or "steps".',
        "stateful_metrics": "Names of metrics that average by themselves.",
    },
    "keras.backend.": {
        "value": "The value.",
        "prefix": "The prefix.",
        "session": "The session.",
        "data_format": '"channels_last" or "channels_first".',
        "op_input_list": "Not used: tensors whose graph the session is for.",
    },
}
