"""tf.test: test cases and benchmarks."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "assert_no_eager_garbage": "Accepted for compatibility.",
    "cls": "The test case.",
    "cuda_only": "Accepted for compatibility; it has no effect.",
    "func": "The function.",
    "methodName": "Name of the method to run.",
    "min_cuda_compute_capability": "Lowest compute capability, a pair (major, minor).",
    "relative_path": "Path relative to the program's folder.",
    "reset_test": "Whether the test is set up again before its second run.",
    "use_gpu": "Whether operations may run on a GPU.",
}
