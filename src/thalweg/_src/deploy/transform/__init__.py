"""Transforms of GraphDefs for deployment, under the names of TensorFlow's graph_transforms tool."""
