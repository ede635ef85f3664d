"""Clusters on Ray: tasks as actors in placement groups."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "arguments": "Command line of `script`.",
    "chief": "Whether there is a chief besides the workers.",
    "index": "Number of the task in its job.",
    "job": "Job of the task.",
    "max_restarts": "How often each task may be restarted after its process has ended.",
    "ps": "Number of parameter servers.",
    "ps_resources": 'What a parameter server needs, by Ray\'s names of resources; {"CPU": 1} if None.',
    "runtime_env": "Ray's runtime environment of the tasks.",
    "script": "Path of the program that chief and workers run, at all nodes; in the place of `train_fn`.",
    "start_timeout": "Seconds that resources and processes may take to be there.",
    "strategy": 'How tasks are placed on nodes: "PACK", "SPREAD", "STRICT_PACK" or "STRICT_SPREAD".',
    "traceback": "Where the task failed.",
    "train_fn": "What chief and workers call, without arguments.",
    "worker_resources": 'What a worker, or the chief, needs; {"CPU": 1} if None.',
    "workers": "Number of workers.",
}
