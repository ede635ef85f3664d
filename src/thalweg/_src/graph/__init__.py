"""Graph construction: operations, tensors, scopes, and the private graph of a step."""
