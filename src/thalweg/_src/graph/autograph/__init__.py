"""AutoGraph: Python functions whose control flow on tensors becomes control flow of the graph."""
