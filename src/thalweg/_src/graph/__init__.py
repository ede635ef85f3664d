"""The graph: operations, tensors, scopes, and the step's private copy of them."""
