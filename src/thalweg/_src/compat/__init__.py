"""TensorFlow 1 API beside the graph: flags, logging, files, versions, and switches between behaviours."""
