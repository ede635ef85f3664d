"""Texts of parameters of Estimators."""

from __future__ import annotations

PARAMETERS: dict[str, str] = {
    # estimators and how they run
    "model_fn": "Function of features, labels, mode, params and config that returns an `EstimatorSpec`.",
    "model_dir": "Folder of checkpoints and summaries; by default that of the config, or a temporary one.",
    "warm_start_from": "Checkpoint, SavedModel or `WarmStartSettings` from which variables start, or None.",
    "tf_random_seed": "Seed of the graphs; None makes each run different.",
    "save_summary_steps": "Steps between summaries; None or 0 writes none.",
    "save_checkpoints_steps": "Steps between checkpoints; give this or `save_checkpoints_secs`.",
    "save_checkpoints_secs": "Seconds between checkpoints; 600 if neither interval is given.",
    "keep_checkpoint_max": "Number of checkpoints to keep; None or 0 keeps all.",
    "train_distribute": "A `tf.distribute.Strategy` for training, or None.",
    "eval_distribute": "A `tf.distribute.Strategy` for evaluation, or None.",
    "experimental_distribute": "A `DistributeConfig` with the strategies, in place of the other two.",
    "device_fn": "Function `device_fn(op)` that returns a device; by default that of parameter servers.",
    "experimental_max_worker_delay_secs": "Longest delay of a worker's start, in seconds; None is 60.",
    "session_creation_timeout_secs": "Seconds that a worker waits for the chief.",
    # specs
    "eval_metric_ops": "Metrics by name: pairs of value and update, or metric objects.",
    "export_outputs": "What is served: `ExportOutput` objects by signature; by default the predictions.",
    "training_chief_hooks": "Hooks of training at the chief.",
    "training_hooks": "Hooks of training at all workers.",
    "evaluation_hooks": "Hooks of evaluation.",
    "prediction_hooks": "Hooks of prediction.",
    "input_fn": "Function that returns a dataset, or features, or features and labels.",
    "max_steps": "Global step to stop at; None trains until the input ends.",
    "exporters": "An `Exporter`, or several, called after each evaluation.",
    "start_delay_secs": "Seconds before the first evaluation of an evaluator.",
    "throttle_secs": "Least number of seconds between evaluations.",
    "train_spec": "A `TrainSpec`.",
    "eval_spec": "An `EvalSpec`.",
    # hooks
    "should_stop_fn": "Function without arguments; training stops when it returns True.",
    "run_every_secs": "Seconds between checks; give this or `run_every_steps`, the other as None.",
    "run_every_steps": "Steps between checks.",
    "metric_name": "Name of the metric, as evaluations return it.",
    "max_steps_without_increase": "Number of steps without a higher value after which training stops.",
    "max_steps_without_decrease": "Number of steps without a lower value after which training stops.",
    "eval_dir": "Folder of the evaluations; by default that of the Estimator.",
    "min_steps": "Evaluations before this step are ignored.",
    "wait_after_file_check_secs": "Seconds between looks for the checkpoint of the last step.",
    "metric_fn": "Function of features, labels, predictions or config that returns metrics by name.",
    "sparse_default_values": "For each sparse feature the value of what it lacks.",
    # exports
    "serving_input_receiver_fn": "Function without arguments that returns a `ServingInputReceiver`.",
    "assets_extra": "Further files to export: their paths by the name in the folder `assets.extra`.",
    "exports_to_keep": "Number of exports to keep; None keeps all.",
    "event_file_pattern": "Pattern of event files with earlier evaluations, below `model_dir`; None ignores them.",
    "compare_fn": "Function of `best_eval_result` and `current_eval_result`; True exports the current model.",
    "receiver_tensors": "What clients feed: tensors by name, or one tensor.",
    "receiver_tensors_alternatives": "Further inputs that can be fed in their place, by the name of a signature.",
    "feature_spec": "Features for `tf.io.parse_example` by name.",
    "default_batch_size": "Number of examples in a batch; None leaves it open.",
    # input
    "queue_capacity": "Number of rows that are shuffled together at least.",
    "target_column": "Name of the labels, which no column of `x` may have.",
    # heads
    "head": "The `Head` of the model.",
    "head_weights": "Factors of the losses of the heads; None adds them as they are.",
    "weight_column": "Name or numeric column of the feature with the weights of examples; None weighs all equally.",
    "label_vocabulary": "The labels as strings, in the order of their numbers; None for labels that are numbers.",
    "label_dimension": "Number of labels of each example.",
    "loss_reduction": "How the losses of examples become one number, a constant of `tf.losses.Reduction`.",
    "loss_fn": "Function of labels and logits that returns the loss of each example, in place of the usual one.",
    "inverse_link_fn": "Function from logits to predictions; None takes the logits.",
    "classes_for_class_based_metrics": "Classes, by number or name, that have metrics of their own.",
    "n_classes": "Number of classes.",
    # canned estimators
    "hidden_units": "Number of units of each hidden layer.",
    "dropout": "Fraction of units that are dropped in training; None drops none.",
    "batch_norm": "Whether each hidden layer is followed by batch normalization.",
    "input_layer_partitioner": "Function that splits the variables of the input layer.",
    "linear_feature_columns": "Feature columns of the linear model.",
    "linear_optimizer": "Optimizer of the linear model, as `optimizer` of a `LinearEstimator`.",
    "linear_sparse_combiner": 'How several categories of one example are combined: "sum", "mean" or "sqrtn".',
    "dnn_feature_columns": "Dense feature columns of the network.",
    "dnn_optimizer": "Optimizer of the network, as `optimizer` of a `DNNEstimator`.",
    "dnn_hidden_units": "Number of units of each hidden layer of the network.",
    "dnn_activation_fn": "Function applied to each hidden layer of the network; None applies none.",
    "dnn_dropout": "Fraction of units of the network that are dropped in training; None drops none.",
    "logit_fn": "Function of features, and of mode, params and config if it takes them, that returns logits.",
    "label_dtype": "Element type of the label.",
    "label_default": "Value of a label that is missing; None requires one.",
}

_FUNCTIONS_OF_LOGITS = (
    "estimator.experimental.linear_logit_fn_builder estimator.experimental.dnn_logit_fn_builder "
    "contrib.estimator.linear_logit_fn_builder contrib.estimator.dnn_logit_fn_builder"
)
_ESTIMATORS = " ".join(
    f"estimator.{kind}{what}"
    for kind in ("Linear", "DNN", "DNNLinearCombined", "Baseline")
    for what in ("Classifier", "Regressor", "Estimator")
)
_HEADS = " ".join(
    f"estimator.{kind}Head"
    for kind in ("BinaryClass", "MultiClass", "MultiLabel", "Regression", "PoissonRegression", "LogisticRegression")
)
_EXPORTERS = "estimator.FinalExporter estimator.LatestExporter estimator.BestExporter"
_RECEIVERS = (
    "estimator.export.ServingInputReceiver estimator.export.TensorServingInputReceiver "
    "estimator.export.build_raw_serving_input_receiver_fn"
)

SCOPED: dict[str, dict[str, str]] = {
    "estimator.Estimator": {
        "config": "A `RunConfig`; None takes the defaults.",
        "params": "Parameters of the model, which its function receives.",
    },
    _ESTIMATORS: {
        "config": "A `RunConfig`; None takes the defaults.",
        "feature_columns": "The feature columns.",
        "optimizer": 'An optimizer, a function that returns one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".',
        "sparse_combiner": 'How several categories of one example are combined: "sum", "mean" or "sqrtn".',
        "activation_fn": "Function applied to each hidden layer; None applies none.",
        "partitioner": "Function that splits the variables; by default one for large ones.",
    },
    _HEADS: {
        "name": "Name of the head, which ends the names of its metrics.",
        "thresholds": "Thresholds of probabilities, each with metrics of its own.",
        "compute_full_loss": "Whether Stirling's approximation of log(labels!) is added.",
    },
    "estimator.MultiHead": {"heads": "The heads, each with a name of its own."},
    "estimator.EstimatorSpec": {
        "mode": "A constant of `tf.estimator.ModeKeys`.",
        "predictions": "The predictions, a tensor or tensors by name.",
        "train_op": "Operation that takes a step of training.",
    },
    "estimator.RunConfig": {
        "log_step_count_steps": "Steps between reports of the loss and the speed; None reports nothing.",
        "protocol": 'Protocol of the servers: "grpc", or None for the default.',
    },
    "estimator.EvalSpec estimator.experimental.InMemoryEvaluatorHook": {
        "steps": "Number of batches to evaluate; None goes on until the input ends.",
        "name": "Name of the evaluation, which ends the name of its folder.",
    },
    "estimator.experimental.InMemoryEvaluatorHook": {"every_n_iter": "Number of steps between evaluations."},
    "estimator.experimental.make_stop_at_checkpoint_step_hook": {"last_step": "Global step to stop at."},
    "estimator.experimental. contrib.estimator.": {"estimator": "The Estimator."},
    "estimator.add_metrics estimator.train_and_evaluate": {"estimator": "The Estimator."},
    "estimator.experimental.stop_if_higher_hook estimator.experimental.stop_if_lower_hook": {
        "threshold": "The value that the metric must pass."
    },
    "contrib.estimator.forward_features": {"keys": "Names of the features; None takes all."},
    _EXPORTERS: {
        "name": "Name of the exporter, and of its folder of exports.",
        "as_text": "Whether the graph is written as text, not binary.",
    },
    "estimator.export.ClassificationOutput": {
        "scores": "Scores of the classes, a float tensor, or None.",
        "classes": "The classes, a string tensor, or None.",
    },
    "estimator.export.RegressionOutput": {"value": "The predicted numbers, a float tensor."},
    "estimator.export.PredictOutput": {"outputs": "Tensors by name, or one tensor."},
    "estimator.export.EvalOutput": {
        "loss": "The loss, a tensor or tensors by name.",
        "predictions": "The predictions, a tensor or tensors by name.",
        "metrics": "Pairs of value and update by name.",
    },
    _RECEIVERS: {"features": "What the model function receives: tensors by name."},
    "estimator.export.TensorServingInputReceiver": {"features": "What the model function receives: one tensor."},
    "estimator.experimental.build_raw_supervised_input_receiver_fn": {
        "features": "Features by name, or one of them, whose types and shapes are taken.",
        "labels": "Labels by name, or one of them, whose types and shapes are taken.",
    },
    "estimator.inputs.numpy_input_fn": {
        "x": "Array of the features, or arrays by name.",
        "y": "Array of the labels, or arrays by name; None without labels.",
        "num_threads": "Accepted for compatibility; it has no effect.",
    },
    "estimator.inputs.pandas_input_fn": {
        "x": "DataFrame of the features.",
        "y": "Series or DataFrame of the labels, with the index of `x`; None without labels.",
        "num_threads": "Accepted for compatibility; it has no effect.",
    },
    _FUNCTIONS_OF_LOGITS: {
        "units": "Number of logits, or numbers by name of the head.",
        "feature_columns": "The feature columns.",
        "sparse_combiner": 'How several categories of one example are combined: "sum", "mean" or "sqrtn".',
        "activation_fn": "Function applied to each hidden layer; None applies none.",
    },
    "estimator.experimental.call_logit_fn contrib.estimator.call_logit_fn": {
        "features": "Features by name.",
        "mode": "A constant of `tf.estimator.ModeKeys`.",
        "params": "Parameters of the model.",
        "config": "A `RunConfig`.",
    },
    "estimator.classifier_parse_example_spec estimator.regressor_parse_example_spec": {
        "feature_columns": "The feature columns.",
        "label_key": "Name of the label.",
    },
}
