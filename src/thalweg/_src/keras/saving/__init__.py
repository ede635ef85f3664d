"""Files of models: weights and whole models in HDF5, weights in checkpoints."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "clone_function": "Function from a layer to its copy.",
    "compile": "Whether the model is compiled as it was.",
    "config": "The description: class name and configuration.",
    "custom_objects": "Classes and functions of the program, by their names in the description.",
    "filepath": "Path of the file or folder, or an open file of h5py.",
    "include_optimizer": "Whether the state of the optimizer is saved as well.",
    "input_tensors": "Tensors to use in the place of new inputs.",
    "json_string": "The description as JSON.",
    "overwrite": "Whether a file that exists is replaced.",
    "save_format": '"h5", the default, or "tf" for a SavedModel.',
    "signatures": "Functions that a SavedModel is served by; by default the model itself.",
    "strict": "Whether a file that was changed is refused, and values that a weight does not hold.",
    "trusted": "Whether functions of any loaded module may be named; False refuses to read files.",
    "yaml_string": "The description as YAML.",
}
