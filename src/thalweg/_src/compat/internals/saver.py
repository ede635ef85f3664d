"""Names of `tensorflow.python.training.saver` that are not public."""

from __future__ import annotations

from thalweg._src.training.checkpoint import saver_builder


class BaseSaverBuilder(saver_builder.SaverBuilder):
    """The builder of a Saver's operations, with the classes of what it saves, which subclasses refer to."""

    SaveSpec = saver_builder.SaveSpec
    SaveableObject = saver_builder.SaveableObject


BulkSaverBuilder = BaseSaverBuilder
