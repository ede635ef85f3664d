"""tf.contrib.summary: Summaries that a step writes to an event file itself."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.summary.summaries import (
    audio as audio,
    generic as generic,
    graph as graph,
    histogram as histogram,
    image as image,
    import_event as import_event,
    scalar as scalar,
)
from thalweg._src.compat.contrib.summary.writers import (
    all_summary_ops as all_summary_ops,
    always_record_summaries as always_record_summaries,
    create_file_writer as create_file_writer,
    create_file_writer as create_summary_file_writer,
    eval_dir as eval_dir,
    flush as flush,
    initialize as initialize,
    never_record_summaries as never_record_summaries,
    record_summaries_every_n_global_steps as record_summaries_every_n_global_steps,
    should_record_summaries as should_record_summaries,
    summary_writer_initializer_op as summary_writer_initializer_op,
)

__all__ = [
    "all_summary_ops", "always_record_summaries", "audio", "create_file_writer", "create_summary_file_writer",
    "eval_dir", "flush", "generic", "graph", "histogram", "image", "import_event", "initialize",
    "never_record_summaries", "record_summaries_every_n_global_steps", "scalar", "should_record_summaries",
    "summary_writer_initializer_op",
]
