"""Texts of parameters of tf.contrib."""

from __future__ import annotations

PARAMETERS: dict[str, str] = {
    # slim.nets
    "final_endpoint": "Name of the last layer to build.",
    "min_depth": "Number of channels that `depth_multiplier` leaves at least.",
    "prediction_fn": "Function from logits to predictions.",
    "batch_norm_var_collection": "Collection of the moving means and variances.",
    "use_batch_norm": "Whether convolutions are followed by batch normalization.",
    "use_fused_batchnorm": "Whether batch normalization is one fused operation where possible.",
}

SCOPED: dict[str, dict[str, str]] = {
    "contrib.summary.": {
        "logdir": "Folder of the event file; None gives a writer that writes nothing.",
        "max_queue": "Number of events that are held in memory at most.",
        "flush_millis": "Milliseconds after which events are flushed to the file.",
        "filename_suffix": "Suffix of the file's name.",
        "name": "Name of the summary.",
        "tensor": "The values.",
        "family": "First part of the tag, by which TensorBoard groups summaries.",
        "step": "The number of the step; by default that of the global step.",
        "metadata": "A SummaryMetadata message, or None.",
        "bad_color": "Color of pixels that are not finite, uint8; red by default.",
        "max_images": "Number of images to write at most.",
        "sample_rate": "Samples per second.",
        "max_outputs": "Number of clips to write at most.",
    },
    "contrib.slim.nets.": {"depth_multiplier": "Factor of the number of channels of each layer."},
    "contrib.slim.summaries.": {
        "name": "Name of the summary; by default that of the operation.",
        "prefix": "First part of the name.",
        "print_summary": "Whether the values are printed to stderr too.",
    },
    "contrib.summary.create_file_writer": {"name": "Name that writers of one file share; by default made of `logdir`."},
}
