"""The gradient functions of the ops, in modules that the registry imports when a gradient is first requested."""
