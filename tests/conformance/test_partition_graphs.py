"""Partition graphs: TensorFlow runs the parts of our steps, transfers included, and gives the same numbers."""

import json

import numpy as np
import pytest

from tests.compiler.partition.graph_programs import DEVICES, FEEDS, PROGRAMS, as_user_graphs, partitions_of
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

CODE = """
import json
config = tf.ConfigProto(device_count={"CPU": int(sys.argv[2])})
for number, case in enumerate(json.load(open(sys.argv[1] + "/cases.json"))):
    with tf.Graph().as_default() as graph:
        for part in range(case["parts"]):
            with open(f"{sys.argv[1]}/{number}_{part}.pb", "rb") as file:
                tf.import_graph_def(tf.GraphDef.FromString(file.read()), name=f"part{part}")
        sends = [graph.get_operation_by_name(name) for name in case["sends"]]
        with tf.Session(config=config) as session:
            feeds = {name: case["value"] for name in case["feeds"]}
            options = tf.RunOptions(timeout_in_ms=60000)
            values, _ = session.run([case["fetches"], sends], feeds, options)
    np.savez(f"{sys.argv[1]}/{number}.npz", *values)
"""


def test_tensorflow_runs_them(tmp_path):
    cases, wanted = [], []
    for build in PROGRAMS:
        for value in FEEDS:
            values, graphs = partitions_of(build, value)
            parts, fetches, feeds, sends = as_user_graphs(graphs)
            for part, graph in enumerate(parts):
                (tmp_path / f"{len(cases)}_{part}.pb").write_bytes(graph.SerializeToString())
            cases.append(
                {"parts": len(parts), "fetches": fetches, "feeds": feeds, "sends": sends, "value": value.tolist()}
            )
            wanted.append((build.__name__, values))
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    run_tensorflow(CODE, tmp_path, DEVICES)
    for number, (name, values) in enumerate(wanted):
        with np.load(tmp_path / f"{number}.npz") as found:
            assert len(found.files) == len(values)
            for a, b in zip(values, (found[key] for key in found.files)):
                np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=name)
