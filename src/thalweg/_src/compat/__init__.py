"""What TensorFlow 1 programs find beside the graph: flags, logging, versions, and switches between behaviours."""
