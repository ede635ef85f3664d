"""Cluster resolvers: the tasks of a cluster and the task of this process, from what started them."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "*args": "The resolvers.",
    "auto_set_gpu": "Whether `cluster_spec` sets CUDA_VISIBLE_DEVICES to the GPUs of this task.",
    "cluster_spec": "The cluster.",
    "credentials": "Credentials for Compute Engine; by default those of the application.",
    "environment": 'Environment of the process, such as "cloud".',
    "executable_location": "Whether this process runs in a pod; by default the environment says so.",
    "gpus_per_node": "Number of GPUs of each host.",
    "gpus_per_task": "Number of GPUs of each task.",
    "instance_group": "Name of the instance group.",
    "job_to_label_mapping": "Label selectors of the pods of each job; by default those of one job of workers.",
    "jobs": "Number of tasks of each job; by default, all tasks are workers.",
    "master": "Address of the master; the empty string is this process.",
    "num_accelerators": "Number of accelerators of a task, by type.",
    "override_client": "A CoreV1Api of the package kubernetes; by default one for this environment.",
    "port": "Port of the servers.",
    "port_base": "Port of the first task on a host; the others have the next ones.",
    "project": "Name of the project.",
    "rpc_layer": 'Protocol that targets begin with: "grpc".',
    "service": "A client for Compute Engine, in place of `credentials`.",
    "task_id": "Number of this process among the tasks of its job.",
    "task_type": "Job of this process.",
    "tasks_per_node": "Number of tasks of each host, one for all or by name; by default what Slurm has started.",
    "tf_server_port": "Port of the servers.",
    "zone": "Zone of the instance group.",
}
