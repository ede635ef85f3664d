"""The gradient of each op, in modules that the registry imports when a gradient is first asked for."""
