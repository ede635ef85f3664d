"""tf.contrib.framework: arg_scope, model variables, nested structures, checks."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "**kwargs": "`check_types`: whether the types of sequences must be equal too.",
    "*inputs": "Nests that have the shallow structure.",
    "device_type": "Type of the device.",
    "dictionary": "Dictionary with nests as keys and values of the same form.",
    "expected_shape": "The shape.",
    "expected_tensor": "The tensor whose shape is expected.",
    "func": "Function of one part from each input.",
    "given_name": "Last part of the name.",
    "ignore_missing_vars": "Whether variables that the checkpoint lacks are skipped.",
    "input_tree": "The nest to take apart.",
    "instructions": "What to use instead.",
    "job_name": "Name of the parameter servers' job.",
    "model_path": "Folder or prefix of the checkpoint.",
    "op": "The function.",
    "reshape_variables": "Whether variables may be restored from values of another shape.",
    "scope": "Scope that names begin with; None takes all.",
    "separator": "String put between the keys.",
    "shallow_tree": "The structure, which may be less deep than the input.",
    "suffix": "What names must end with; None takes all.",
    "var": "The variable.",
    "var_list": "The variables: a list, or a dictionary by name in the checkpoint.",
    "var_names_to_values": "Values by variable name.",
    "var_op_name": "Full name of the variable.",
    "warn_once": "Whether it warns once, not at each use.",
}
