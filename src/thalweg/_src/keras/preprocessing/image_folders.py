"""Batches of images of files: of folders for classes, and of tables of names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.preprocessing.image_batches import Iterator, save_images
from thalweg._src.keras.preprocessing.image_files import Array, img_to_array, load_img, required_format

_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}
_WITH_CLASSES = ("binary", "categorical", "sparse")


class FileIterator(Iterator):
    """Batches of images of files; a subclass finds them, and their classes or other targets."""

    filenames: list[str]
    filepaths: list[str]
    class_mode: str | None
    classes: Any
    class_indices: dict[str, int]
    sample_weight: Any = None
    dtype: Any
    allowed_class_modes: frozenset[str | None]

    def set_processing_attrs(
        self,
        image_data_generator: Any,
        target_size: Sequence[int],
        color_mode: str,
        data_format: str | None,
        save_to_dir: str | None,
        save_prefix: str,
        save_format: str,
        subset: str | None,
        interpolation: str,
    ) -> None:
        """Sets how files become images."""
        if color_mode not in _CHANNELS:
            raise ValueError(f'color_mode: expected "rgb", "rgba" or "grayscale", received {color_mode!r}')
        if subset not in (None, "training", "validation"):
            raise ValueError(f'subset: expected "training" or "validation", received {subset!r}')
        self.image_data_generator = image_data_generator
        self.target_size = tuple(target_size)
        self.color_mode = color_mode
        self.data_format = required_format(data_format)
        channels = (_CHANNELS[color_mode],)
        is_last = self.data_format == "channels_last"
        self.image_shape = self.target_size + channels if is_last else channels + self.target_size
        self.save_to_dir = save_to_dir
        self.save_prefix = save_prefix
        self.save_format = save_format
        self.interpolation = interpolation
        self.subset = subset
        self.split: tuple[float, float] | None = None
        if subset is not None:
            at = image_data_generator._validation_split
            self.split = (0, at) if subset == "validation" else (at, 1)

    def _require_class_mode(self, class_mode: str | None) -> None:
        if class_mode not in self.allowed_class_modes:
            expected = ", ".join(sorted(map(repr, self.allowed_class_modes)))
            raise ValueError(f"class_mode: expected one of {expected}, received {class_mode!r}")
        self.class_mode = class_mode

    def _subset_of(self, values: Sequence[Any]) -> list[Any]:
        """Returns those of a list that belong to the subset."""
        if self.split is None:
            return list(values)
        start, stop = (int(fraction * len(values)) for fraction in self.split)
        return list(values[start:stop])

    @property
    def labels(self) -> Any:
        """The targets of all images."""
        return self.classes

    def _get_batches_of_transformed_samples(self, index_array: Array) -> Any:
        images = np.zeros((len(index_array), *self.image_shape), self.dtype)
        for place, row in enumerate(index_array):
            image = load_img(
                self.filepaths[row],
                color_mode=self.color_mode,
                target_size=self.target_size,
                interpolation=self.interpolation,
            )
            images[place] = self._changed(img_to_array(image, self.data_format))
        if self.save_to_dir:
            save_images(
                images, index_array, self.data_format, self.save_to_dir, self.save_prefix, self.save_format, 10_000_000
            )
        if self.class_mode is None:
            return images
        targets = images.copy() if self.class_mode == "input" else self._targets_of(index_array)
        weights = () if self.sample_weight is None else (self.sample_weight[index_array],)
        return (images, targets, *weights)

    def _changed(self, image: Array) -> Array:
        generator = self.image_data_generator
        if generator is None:
            return image
        changes = generator.get_random_transform(image.shape)
        changed: Array = generator.standardize(generator.apply_transform(image.copy(), changes))
        return changed

    def _targets_of(self, rows: Array) -> Any:
        if self.class_mode in ("binary", "sparse"):
            return np.array([self.classes[row] for row in rows], self.dtype)
        if self.class_mode == "multi_output":
            return [output[rows] for output in self.labels]
        if self.class_mode == "raw":
            return self.labels[rows]
        targets = np.zeros((len(rows), len(self.class_indices)), self.dtype)
        for place, row in enumerate(rows):
            targets[place, self.classes[row]] = 1
        return targets


@export("keras.preprocessing.image.DirectoryIterator")
class DirectoryIterator(FileIterator):
    """Batches of the images of a folder, whose folders are the classes."""

    allowed_class_modes = frozenset({"categorical", "binary", "sparse", "input", None})

    def __init__(
        self,
        directory: str,
        image_data_generator: Any,
        target_size: Sequence[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str | None = None,
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        follow_links: bool = False,
        subset: str | None = None,
        interpolation: str = "nearest",
        dtype: npt.DTypeLike | None = None,
    ) -> None:
        self.set_processing_attrs(
            *(image_data_generator, target_size, color_mode, data_format, save_to_dir, save_prefix, save_format),
            *(subset, interpolation),
        )
        self._require_class_mode(class_mode)
        self.directory = os.fspath(directory)
        self.dtype = dtype or floatx()
        if not classes:
            classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
        self.num_classes = len(classes)
        self.class_indices = {name: number for number, name in enumerate(classes)}
        self.filenames = []
        numbers: list[int] = []
        for name, number in self.class_indices.items():
            paths = self._subset_of([*_images_in(os.path.join(self.directory, name), follow_links)])
            self.filenames += [os.path.join(name, path) for path in paths]
            numbers += [number] * len(paths)
        self.samples = len(self.filenames)
        self.classes = np.array(numbers, np.int32)
        self.filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        super().__init__(self.samples, batch_size, shuffle, seed)


def _images_in(folder: str, follow_links: bool) -> Iterable[str]:
    """Yields the paths of the images in a folder and in those inside of it, below that folder."""
    for root, _, names in sorted(os.walk(folder, followlinks=follow_links), key=lambda entry: entry[0]):
        for name in sorted(names):
            if name.lower().endswith(Iterator.white_list_formats):
                yield os.path.relpath(os.path.join(root, name), folder)


class DataFrameIterator(FileIterator):
    """Batches of the images that a table names, with targets of its other columns.

    A table is anything with columns by name, as pandas has them.
    """

    allowed_class_modes = frozenset({"binary", "categorical", "input", "multi_output", "raw", "sparse", None})

    def __init__(
        self,
        dataframe: Any,
        directory: str | None = None,
        image_data_generator: Any = None,
        x_col: str = "filename",
        y_col: str | Sequence[str] = "class",
        weight_col: str | None = None,
        target_size: Sequence[int] = (256, 256),
        color_mode: str = "rgb",
        classes: Sequence[str] | None = None,
        class_mode: str | None = "categorical",
        batch_size: int = 32,
        shuffle: bool = True,
        seed: int | None = None,
        data_format: str | None = "channels_last",
        save_to_dir: str | None = None,
        save_prefix: str = "",
        save_format: str = "png",
        subset: str | None = None,
        interpolation: str = "nearest",
        dtype: npt.DTypeLike = "float32",
        validate_filenames: bool = True,
    ) -> None:
        self.set_processing_attrs(
            *(image_data_generator, target_size, color_mode, data_format, save_to_dir, save_prefix, save_format),
            *(subset, interpolation),
        )
        self._require_class_mode(class_mode)
        self.directory = os.fspath(directory or "")
        self.dtype = dtype
        names = list(dataframe[x_col])
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"All values in column x_col={x_col} must be strings.")
        rows = list(range(len(names)))
        if validate_filenames:
            rows = self._valid(names, x_col)
        if class_mode in _WITH_CLASSES:
            labels = [_chosen_labels(label, classes, y_col, class_mode) for label in dataframe[y_col]]
            rows = [row for row in rows if labels[row]]
            self._set_classes([labels[row] for row in rows], classes)
        rows = self._subset_of(rows)
        if class_mode in _WITH_CLASSES:
            self.classes = [self._number_of(labels[row]) for row in rows]
        elif class_mode == "multi_output":
            if not isinstance(y_col, list):
                raise TypeError(f'With class_mode="multi_output", y_col must be a list of columns, received {y_col!r}')
            self.classes = [np.array([list(dataframe[column])[row] for row in rows]) for column in y_col]
        elif class_mode == "raw":
            self.classes = _raw(dataframe, y_col)[rows]
        if weight_col:
            self.sample_weight = np.array(list(dataframe[weight_col]))[rows]
            if self.sample_weight.dtype.kind not in "biuf":
                raise TypeError(f"Column weight_col={weight_col} must be numeric.")
        self.filenames = [names[row] for row in rows]
        self.filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        self.samples = len(self.filenames)
        kind = "validated" if validate_filenames else "non-validated"
        end = f" belonging to {len(self.class_indices)} classes" if class_mode in _WITH_CLASSES else ""
        print(f"Found {self.samples} {kind} image filenames{end}.")
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _valid(self, names: list[str], column: str) -> list[int]:
        """Returns the rows whose files exist and are images."""
        rows = [
            row
            for row, name in enumerate(names)
            if name.lower().endswith(self.white_list_formats) and os.path.isfile(os.path.join(self.directory, name))
        ]
        if len(rows) < len(names):
            logging.warning(
                'Found %s invalid image filename(s) in x_col="%s". These filename(s) will be ignored.',
                len(names) - len(rows),
                column,
            )
        return rows

    def _set_classes(self, labels: list[Any], classes: Sequence[str] | None) -> None:
        occurring: set[str] = set()
        for label in labels:
            occurring.update([label] if isinstance(label, str) else label)
        names = list(dict.fromkeys(classes)) if classes else sorted(occurring)
        if self.class_mode == "binary" and len(names) != 2:
            raise ValueError(f'With class_mode="binary" there must be 2 classes, found {len(names)}: {names}')
        self.class_indices = {name: number for number, name in enumerate(names)}

    def _number_of(self, label: Any) -> Any:
        if isinstance(label, str):
            return self.class_indices[label]
        return [self.class_indices[name] for name in label]


def _chosen_labels(
    label: Any, classes: Sequence[str] | None, column: str | Sequence[str], class_mode: str | None
) -> Any:
    """Returns a label, or those of a list, that are among the classes; None if none is."""
    several = isinstance(label, list | tuple) and class_mode == "categorical"
    if not isinstance(label, str) and not several:
        expected = "strings, lists or tuples" if class_mode == "categorical" else "strings"
        raise TypeError(f'With class_mode="{class_mode}", values of y_col="{column}" must be {expected}: {label!r}')
    if isinstance(label, str):
        return label if not classes or label in classes else None
    return [name for name in label if not classes or name in classes] or None


def _raw(table: Any, columns: str | Sequence[str]) -> Array:
    """Returns the values of a column, or of several, as they are."""
    if isinstance(columns, list | tuple):
        return np.stack([np.array(list(table[column])) for column in columns], axis=1)
    return np.array(list(table[columns]))
