"""tf.keras.preprocessing.image: Images as arrays, and batches of images that are changed at random."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.preprocessing.image_batches import (
    Iterator as Iterator,
    NumpyArrayIterator as NumpyArrayIterator,
)
from thalweg._src.keras.preprocessing.image_files import (
    array_to_img as array_to_img,
    img_to_array as img_to_array,
    load_img as load_img,
    save_img as save_img,
)
from thalweg._src.keras.preprocessing.image_folders import DirectoryIterator as DirectoryIterator
from thalweg._src.keras.preprocessing.image_generator import ImageDataGenerator as ImageDataGenerator
from thalweg._src.keras.preprocessing.image_transforms import (
    apply_affine_transform as apply_affine_transform,
    apply_brightness_shift as apply_brightness_shift,
    apply_channel_shift as apply_channel_shift,
    random_brightness as random_brightness,
    random_channel_shift as random_channel_shift,
    random_rotation as random_rotation,
    random_shear as random_shear,
    random_shift as random_shift,
    random_zoom as random_zoom,
)

__all__ = [
    "DirectoryIterator", "ImageDataGenerator", "Iterator", "NumpyArrayIterator", "apply_affine_transform",
    "apply_brightness_shift", "apply_channel_shift", "array_to_img", "img_to_array", "load_img", "random_brightness",
    "random_channel_shift", "random_rotation", "random_shear", "random_shift", "random_zoom", "save_img",
]
