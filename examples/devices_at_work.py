"""Shared by data_parallel.py and model_parallel.py: the data, and the timeline of each device from a traced step."""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import thalweg as tf

COLUMNS = 72


def digits():
    """Returns training and test images with labels: 1,797 scans of 8 x 8 pixels."""
    pixels, labels = load_digits(return_X_y=True)
    return train_test_split((pixels / 16).astype("float32"), labels, test_size=360, random_state=0)


def virtual_devices(count):
    """Returns the configuration of a session with several CPU devices of one thread each."""
    return tf.ConfigProto(device_count={"CPU": count, "GPU": 0}, intra_op_parallelism_threads=1)


def trace(sess, fetches, feeds):
    """Runs a step, traced, and returns (device, start, end, node) of each kernel in nanoseconds."""
    sess.run(fetches, feeds)  # the first run compiles
    metadata = tf.RunMetadata()
    sess.run(fetches, feeds, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    return [
        (part.device.rpartition("/device:")[2], n.all_start_nanos, n.all_start_nanos + n.all_end_rel_nanos, n.node_name)
        for part in metadata.step_stats.dev_stats
        for n in part.node_stats
    ]


def at_once(times):
    """Returns the pairs of devices that were busy at the same time."""
    return {
        (device, other)
        for device, start, end, _ in times
        for other, begin, stop, _ in times
        if device < other and start < stop and begin < end
    }


def chart(times):
    """Returns a timeline as text: one line per device, time from left to right."""
    first, last = min(start for _, start, _, _ in times), max(end for _, _, end, _ in times)
    scale = COLUMNS / (last - first)
    lines = {device: ["."] * COLUMNS for device, *_ in sorted(times)}
    for device, start, end, _ in times:
        for column in range(int((start - first) * scale), min(int((end - first) * scale) + 1, COLUMNS)):
            lines[device][column] = "#"
    return "\n".join(f"{device} {''.join(line)}" for device, line in lines.items())
