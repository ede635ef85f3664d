"""Estimators of common models: linear ones, networks of dense layers, both together, and a baseline."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "batch_norm": "Whether each hidden layer is followed by batch normalization.",
    "dnn_activation_fn": "Function applied to each hidden layer of the network; None applies none.",
    "dnn_dropout": "Fraction of units of the network that are dropped in training; None drops none.",
    "dnn_feature_columns": "Dense feature columns of the network.",
    "dnn_hidden_units": "Number of units of each hidden layer of the network.",
    "dnn_optimizer": "Optimizer of the network, as `optimizer` of a `DNNEstimator`.",
    "dropout": "Fraction of units that are dropped in training; None drops none.",
    "head": "The `Head` of the model.",
    "hidden_units": "Number of units of each hidden layer.",
    "input_layer_partitioner": "Function that splits the variables of the input layer.",
    "label_default": "Value of a label that is missing; None requires one.",
    "label_dtype": "Element type of the label.",
    "linear_feature_columns": "Feature columns of the linear model.",
    "linear_optimizer": "Optimizer of the linear model, as `optimizer` of a `LinearEstimator`.",
    "linear_sparse_combiner": 'How several categories of one example are combined: "sum", "mean" or "sqrtn".',
}
