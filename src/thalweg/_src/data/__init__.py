"""Datasets: input pipelines, from the graph that describes them to the threads that run them."""
