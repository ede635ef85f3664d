"""Image functions composed of image operations."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "filter_sigma": "Width of the Gaussian window.",
    "filter_size": "Size of the Gaussian window.",
    "img1": "The first images.",
    "img2": "The second images.",
    "k1": "Constant that stabilizes the luminance term.",
    "k2": "Constant that stabilizes the contrast term.",
    "max_val": "Difference between the largest and smallest allowed values.",
    "power_factors": "Weight of each scale; their number is the number of scales.",
    "return_index_map": "Whether the map of local values is returned, not its mean.",
}
