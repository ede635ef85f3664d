"""Valid calls of collectives, each of a group of one member."""

from __future__ import annotations

from tests.valid_calls.values import Call, floats

_GROUP = {"group_size": 1, "group_key": 1, "instance_key": 1}

VALID: dict[str, Call] = {
    "CollectiveReduce": ((floats(2, 3),), {**_GROUP, "merge_op": "Add", "final_op": "Id", "subdiv_offsets": [0]}),
    "CollectiveGather": ((floats(2, 3),), {**_GROUP, "shape": [0]}),
    "CollectiveBcastSend": ((floats(2, 3),), {**_GROUP, "shape": [2, 3]}),
    "NcclAllReduce": ((floats(2, 3),), {"reduction": "sum", "num_devices": 1, "shared_name": "group"}),
    "NcclReduce": (([floats(2, 3), floats(2, 3)],), {"reduction": "max"}),
    "NcclBroadcast": ((floats(2, 3),), {"shape": [2, 3]}),
}
