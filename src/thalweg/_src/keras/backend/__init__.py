"""The Keras backend: the state that layers share, and operations under Keras's names."""
