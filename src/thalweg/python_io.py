"""tf.python_io: TFRecord files."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.base.formats.record_files import (
    TFRecordCompressionType as TFRecordCompressionType,
    TFRecordOptions as TFRecordOptions,
    TFRecordWriter as TFRecordWriter,
    tf_record_iterator as tf_record_iterator,
)

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]
