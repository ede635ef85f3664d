"""Datasets: input pipelines, from their description in the graph to the threads that run them."""
