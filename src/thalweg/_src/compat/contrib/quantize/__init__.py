"""tf.contrib.quantize: training with the rounding of a few bits."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "activation_bits": "Bits of an activation.",
    "freeze_bn_delay": "How many steps batch normalization uses the statistics of batches; None: always.",
    "input_graph": "The graph to rewrite; by default the default graph.",
    "quant_delay": "How many steps run before rounding begins.",
    "scope": "The scope of the operations that are rewritten; by default all are.",
    "symmetric": "Whether 0 is in the middle of ranges.",
    "weight_bits": "Bits of a weight.",
}
