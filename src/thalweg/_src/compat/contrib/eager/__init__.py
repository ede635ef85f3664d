"""tf.contrib.eager: metrics, savers and networks for programs that execute eagerly."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "layers_funcs": "Layers and functions, in the order in which they are called.",
    "map_func": "Function from the name of a variable to its name in the checkpoint; by default they are equal.",
    "name": "Name; by default made of that of the class.",
    "save_path": "Prefix of the checkpoint; None restores nothing.",
    "threshold": "Predictions above it are true.",
    "use_global_variables": "Whether variables are in the collection `GLOBAL_VARIABLES` instead of the local ones.",
    "var_list": "The variables, as a list, or as a dictionary by their names in checkpoints.",
}
