"""tf.quantization: Quantization of real numbers to small integers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.gen_ops import (
    fake_quant_with_min_max_args as fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars as fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
    quantized_concat as quantized_concat,
)
from thalweg._src.graph.ops.quantization import (
    dequantize as dequantize,
    quantize as quantize,
    quantize_and_dequantize as quantize_and_dequantize,
    quantize_and_dequantize_v2 as quantize_and_dequantize_v2,
)

__all__ = [
    "dequantize", "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient", "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient", "quantize", "quantize_and_dequantize",
    "quantize_and_dequantize_v2", "quantized_concat",
]
