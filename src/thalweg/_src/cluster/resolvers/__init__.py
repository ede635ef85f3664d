"""Cluster resolvers: the tasks of a cluster and the task of this process, from what started them."""
