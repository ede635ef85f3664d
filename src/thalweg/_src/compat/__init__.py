"""TensorFlow 1 API beside the graph: flags, logging, files, versions, and switches between behaviours."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "children_inputs_mappings": "Ignored.",
    "compile_ops": "Whether operations are compiled: a bool, or a function from a NodeDef to one.",
    "day": "Day of the change.",
    "dirname": "Path of the folder.",
    "function_name": "Ignored.",
    "in_order": "Whether a folder comes before its subfolders, not after them.",
    "input_arrays_with_shape": "Ignored.",
    "input_data": "Ignored.",
    "input_gen": "Ignored.",
    "input_tensors": "Ignored.",
    "model_content": "Ignored.",
    "month": "Month of the change.",
    "newname": "The new path.",
    "newpath": "Path of the copy.",
    "oldname": "The present path.",
    "oldpath": "Path of the existing file.",
    "output_arrays": "Ignored.",
    "output_tensors": "Ignored.",
    "separate_compiled_gradients": "Accepted for compatibility; gradients belong to the scope of `tf.gradients`.",
    "supported_ops": "Ignored.",
    "supported_types": "Ignored.",
    "year": "Year of the change.",
}
