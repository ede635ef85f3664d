"""tf.contrib.deprecated: Summary functions under the names of releases before 1.0."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.deprecated import (
    audio_summary as audio_summary,
    histogram_summary as histogram_summary,
    image_summary as image_summary,
    merge_all_summaries as merge_all_summaries,
    merge_summary as merge_summary,
    scalar_summary as scalar_summary,
)

__all__ = [
    "audio_summary", "histogram_summary", "image_summary", "merge_all_summaries", "merge_summary", "scalar_summary",
]
