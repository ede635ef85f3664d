"""Inception-v3: eleven modules of parallel branches, factorized convolutions, an auxiliary head, smoothed labels.

The network of Szegedy, Vanhoucke, Ioffe, Shlens and Wojna (2015), which the OSDI paper trains on up to 200 workers to
compare asynchronous steps, synchronous steps, and synchronous steps with backup workers. With the published width,
1,000 classes and the auxiliary head it has 27,161,264 parameters.

    python examples/inception_v3.py --size 75 --width 0.125 --steps 150
    python examples/inception_v3.py --size 299 --width 1           (the published size: minutes, or a GPU)
"""
