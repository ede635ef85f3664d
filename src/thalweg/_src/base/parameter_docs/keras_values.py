"""Texts of parameters of Keras's initializers, regularizers, constraints and activations, and of `keras.utils`."""

from __future__ import annotations

PARAMETERS: dict[str, str] = {}

SCOPED: dict[str, dict[str, str]] = {
    "keras.": {
        "identifier": "A name, a configuration, or the object itself.",
        "custom_objects": "Objects of the program's own by name, which are looked up first.",
        "module_objects": "The objects of one kind by name, which are looked up last.",
        "printable_module_name": "What an error calls the kind of object.",
        "l1": "Factor of the sum of absolute values.",
        "l2": "Factor of the sum of squares.",
    },
    "keras.initializers.RandomNormal keras.initializers.TruncatedNormal keras.initializers.RandomUniform": {
        "dtype": "Default type of the values.",
    },
    "keras.initializers.": {
        "initializer": "The initializer.",
        "config": "A configuration or a name.",
    },
    "keras.regularizers.": {
        "l": "Factor of the sum.",
        "regularizer": "The regularizer.",
        "config": "A configuration or a name.",
    },
    "keras.constraints.": {
        "axis": "The dimension or dimensions that a norm is taken over.",
        "min_value": "Smallest norm.",
        "max_value": "Largest norm.",
        "rate": "Part of the way to an allowed norm that each call goes; 1 reaches it.",
        "constraint": "The constraint.",
        "config": "A configuration or a name.",
    },
    "keras.activations.": {
        "axis": "The dimension or dimensions whose elements sum to 1.",
        "alpha": "Slope below the threshold.",
        "max_value": "Upper bound of the result; None sets none.",
        "threshold": "Inputs below it count as negative.",
        "activation": "The activation.",
        "name": "A name or a configuration.",
    },
    "keras.activations.elu": {"alpha": "Minus the limit of the result for large negative inputs."},
    "keras.utils.CustomObjectScope keras.utils.custom_object_scope": {
        "*args": "Dictionaries from names to objects.",
    },
    "keras.utils.serialize_keras_object": {"instance": "A function, a class, an object with `get_config`, or None."},
    "keras.utils.to_categorical": {
        "y": "Array of the numbers of classes, from 0.",
        "num_classes": "Number of classes; by default one more than the largest number.",
    },
    "keras.utils.normalize": {
        "x": "A NumPy array.",
        "axis": "The dimension that a norm is taken over.",
        "order": "Order of the norm; 2 is the Euclidean one.",
    },
    "keras.utils.Progbar": {
        "target": "Number of steps; None if it is not known.",
        "width": "Number of characters of the bar.",
        "verbose": "0 shows nothing, 1 a bar, 2 one line at the end.",
        "interval": "Seconds between two updates of the bar at least.",
        "stateful_metrics": "Names of the values that are shown as they are, not averaged over the steps.",
        "unit_name": "What one step is called.",
    },
    "keras.utils.get_file": {
        "fname": "Name of the file, or its absolute path.",
        "origin": "URL of the file; that of a file of this machine starts with `file:`.",
        "untar": "Whether the file is a tar archive, `fname.tar.gz`, which is extracted to `fname`.",
        "md5_hash": "MD5 hash of the file, in place of `file_hash`.",
        "file_hash": "Hash of the file, in hexadecimal digits.",
        "cache_subdir": "Folder of the file below `cache_dir`.",
        "hash_algorithm": '"md5", "sha256", or "auto", which chooses by the length of the hash.',
        "extract": "Whether an archive is extracted into the folder that has it.",
        "archive_format": '"tar", "zip", a list of both, "auto" for both, or None for no archive.',
        "cache_dir": "Folder of the cache; `~/.keras` by default.",
    },
}
