"""tf.quantization: real numbers as small integers."""

from thalweg._src.ops.fake_quantization import (
    fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel,
    fake_quant_with_min_max_vars_per_channel_gradient,
)
from thalweg._src.ops.quantization import dequantize, quantize, quantize_and_dequantize, quantize_and_dequantize_v2
from thalweg._src.ops.quantized import quantized_concat

__all__ = [
    "dequantize",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "quantize",
    "quantize_and_dequantize",
    "quantize_and_dequantize_v2",
    "quantized_concat",
]
