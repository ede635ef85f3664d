"""Compiling one partition: kernel binding, segments, Python code generation, lowering to Inductor, layouts."""
