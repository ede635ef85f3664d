"""tf.contrib.summary: summaries that a step writes to an event file itself."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "bad_color": "Color of pixels that are not finite, uint8; red by default.",
    "family": "First part of the tag, by which TensorBoard groups summaries.",
    "max_images": "Number of images to write at most.",
    "max_outputs": "Number of clips to write at most.",
    "metadata": "A SummaryMetadata message, or None.",
    "name": "Name of the summary.",
    "step": "The number of the step; by default that of the global step.",
    "tensor": "The values.",
}
