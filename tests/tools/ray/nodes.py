"""Starts a Ray of several nodes, each in processes of its own, prints its address, and ends with its standard input.

Run as `nodes.py CPUS...`: the number of CPUs of each node.
"""

import sys

from ray.cluster_utils import Cluster

MEMORY = 80 << 20  # bytes for objects of each node: the least that Ray accepts is 75 MB


def main(cpus):
    head, *others = [{"num_cpus": int(count), "object_store_memory": MEMORY} for count in cpus]
    cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **head})
    for options in others:
        cluster.add_node(**options)
    print(cluster.address, flush=True)
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
