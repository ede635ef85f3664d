"""Clusters on Ray: tasks as actors in placement groups."""
