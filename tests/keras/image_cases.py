"""Changes of images as cases: options of generators and calls of functions, with random numbers of known seeds."""

import numpy as np

IMAGES = np.random.RandomState(0).randint(0, 256, [6, 7, 5, 3]).astype(np.float32)
SMALL = np.random.RandomState(1).uniform(0, 1, [40, 2, 2, 1]).astype(np.float32)  # more images than pixels
GENERATORS = {
    "rotation": {"rotation_range": 40},
    "shift by a fraction": {"width_shift_range": 0.3, "height_shift_range": 0.2},
    "shift by pixels": {"width_shift_range": 3, "height_shift_range": 2, "fill_mode": "constant", "cval": 9.0},
    "shift of a list": {"width_shift_range": [1, 2], "height_shift_range": [-0.25, 0.5], "fill_mode": "wrap"},
    "brightness": {"brightness_range": [0.4, 1.6]},
    "shear": {"shear_range": 25, "fill_mode": "reflect"},
    "zoom": {"zoom_range": 0.4},
    "zoom between": {"zoom_range": [0.5, 0.9]},
    "channels": {"channel_shift_range": 60.0},
    "flips": {"horizontal_flip": True, "vertical_flip": True},
    "rescale": {"rescale": 1 / 255, "samplewise_center": True},
    "samples": {"samplewise_std_normalization": True},
    "all": {
        **{"rotation_range": 20, "width_shift_range": 0.1, "height_shift_range": 0.1, "shear_range": 10},
        **{"zoom_range": 0.2, "channel_shift_range": 10.0, "horizontal_flip": True, "brightness_range": (0.8, 1.2)},
    },
    "channels first": {"rotation_range": 30, "zoom_range": 0.2, "data_format": "channels_first"},
}
FITTED = {
    "mean and deviation": {"featurewise_std_normalization": True},
    "whitening": {"zca_whitening": True},
    "rescaled": {"featurewise_center": True, "rescale": 0.5},
    "augmented": {"featurewise_center": True, "rotation_range": 30},
}
FUNCTIONS = {
    "random_rotation": ([50], {}),
    "random_shift": ([0.3, 0.2], {"fill_mode": "constant"}),
    "random_shear": ([30], {"interpolation_order": 0}),
    "random_zoom": ([[0.6, 1.4]], {}),
}
AXES = {"row_axis": 0, "col_axis": 1, "channel_axis": 2}


def flowed(generator_class, name):
    """Returns a batch of changed images and their numbers."""
    options = GENERATORS[name]
    images = IMAGES.transpose(0, 3, 1, 2) if options.get("data_format") == "channels_first" else IMAGES
    flow = generator_class(**options).flow(images, np.arange(6), batch_size=2, seed=11)
    next(flow)
    return next(flow)


def fitted(generator_class, name):
    """Returns an image that is normalized by statistics of others."""
    options = FITTED[name]
    images = SMALL if "zca_whitening" in options else IMAGES
    generator = generator_class(**options)
    generator.fit(images, augment=name == "augmented", rounds=2, seed=5)
    return generator.standardize(images[0].copy())


def called(module, name):
    """Returns what a function makes of an image."""
    arguments, options = FUNCTIONS[name]
    np.random.seed(21)
    return getattr(module, name)(IMAGES[0].copy(), *arguments, **options, **AXES)
