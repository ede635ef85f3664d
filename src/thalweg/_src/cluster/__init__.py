"""Steps over the tasks of a cluster, and the ways in which tasks learn of each other."""
