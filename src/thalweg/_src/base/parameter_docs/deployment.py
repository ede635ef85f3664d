"""Texts of parameters of what prepares models for deployment: transforms, quantization, calibration."""

from __future__ import annotations

SCOPED: dict[str, dict[str, str]] = {
    "tools.graph_transforms.TransformGraph": {
        "input_graph_def": "A GraphDef, frozen for most transforms.",
        "inputs": "Names of the nodes that are fed.",
        "outputs": "Names of the nodes that are fetched, which keep their names.",
        "transforms": "Names of transforms with their parameters, as in `remove_nodes(op=Identity)`.",
    },
    "contrib.quantize.": {
        "input_graph": "The graph to rewrite; by default the default graph.",
        "weight_bits": "Bits of a weight.",
        "activation_bits": "Bits of an activation.",
        "symmetric": "Whether 0 is in the middle of ranges.",
        "quant_delay": "How many steps run before rounding begins.",
        "freeze_bn_delay": "How many steps batch normalization uses the statistics of batches; None: always.",
        "scope": "The scope of the operations that are rewritten; by default all are.",
    },
    "export.calibrate": {
        "model": "The folder of a SavedModel, or a frozen GraphDef.",
        "dataset": "A `tf.data.Dataset`, a function that returns one, or an iterable of batches: arrays, dictionaries "
        "by the names of inputs, or pairs of these and labels.",
        "inputs": "Names of the tensors that a GraphDef takes, or a dictionary from the dataset's keys to them.",
        "outputs": "Names of the tensors that a GraphDef gives, or a dictionary of them.",
        "method": '"min_max" for the range of all values, "percentile" for one without outliers.',
        "percentile": "Share of the values, in percent, that is below the upper end of a range.",
        "weight_bits": "Bits of a weight.",
        "activation_bits": "Bits of an activation.",
        "per_channel": "Whether each channel of weights has a range of its own.",
        "max_batches": "How many elements of the dataset are used; None uses all.",
        "tags": "Tags of the graph in a SavedModel.",
        "signature_def_key": "Signature of a SavedModel; by default that for serving, or the only one.",
    },
    "export.CalibratedModel": {
        "graph_def": "The graph that rounds.",
        "inputs": "Names of the tensors that are fed, by key.",
        "outputs": "Names of the tensors that are fetched, by key.",
        "ranges": "Ranges of activations, by the names of nodes.",
        "original": "The graph that does not round.",
        "weight_bits": "Bits of a weight.",
    },
    "lite. contrib.lite.": {
        "graph_def": "Ignored.",
        "input_data": "Ignored.",
        "input_tensors": "Ignored.",
        "output_tensors": "Ignored.",
        "input_arrays_with_shape": "Ignored.",
        "output_arrays": "Ignored.",
        "model_path": "Ignored.",
        "model_content": "Ignored.",
        "function_name": "Ignored.",
        "level": "Ignored.",
        "children_inputs_mappings": "Ignored.",
        "input_gen": "Ignored.",
        "supported_ops": "Ignored.",
        "supported_types": "Ignored.",
    },
}
