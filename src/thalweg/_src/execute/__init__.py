"""One partition: bind its kernels, divide it into segments, write each as a Python function, and run them."""
