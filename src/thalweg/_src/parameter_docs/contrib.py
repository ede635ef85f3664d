"""Texts of parameters of tf.contrib."""

from __future__ import annotations

PARAMETERS: dict[str, str] = {}

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
    "contrib.summary.create_file_writer": {"name": "Name that writers of one file share; by default made of `logdir`."},
}
