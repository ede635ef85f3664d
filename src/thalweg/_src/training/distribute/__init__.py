"""Distribution strategies: replicas of a model on several devices and tasks, kept in step."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "accumulation_fn": "Function from a list of values to their sum; by default `tf.add_n`.",
    "agg_small_grads_max_bytes": "Accepted for compatibility; the compiler decides which reductions are fused.",
    "agg_small_grads_max_group": "Accepted for compatibility; the compiler decides which reductions are fused.",
    "all_reduce_alg": '"nccl" or "hierarchical_copy".',
    "cluster_resolver": "Finds the cluster and the task of this process; by default from TF_CONFIG.",
    "compute_devices": "Names of the devices of replicas; by default all GPUs, or the CPU.",
    "container_strategy": "The strategy that this is the extended part of.",
    "device": "Name of the device.",
    "devices": "Names of the devices of replicas; by default all GPUs, or the CPU.",
    "extended": "The part of the strategy that libraries use.",
    "input_pipeline_id": "Number of this pipeline among them.",
    "num_input_pipelines": "Number of input pipelines of all workers.",
    "num_packs": "Accepted for compatibility; the compiler decides which reductions are fused.",
    "num_replicas_in_sync": "Number of replicas whose gradients are aggregated.",
    "parameter_device": "Name of the device of the variables; by default the CPU, or the only GPU.",
    "reduce_to_device": "The device that reduces; by default the first destination.",
    "replica_ctx": "The context of a replica.",
    "replica_id_in_sync_group": "Number of the replica among all of them.",
    "strategy": "The strategy.",
}
