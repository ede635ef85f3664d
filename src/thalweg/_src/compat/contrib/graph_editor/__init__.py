"""tf.contrib.graph_editor: selection, copying and rewiring of parts of a graph."""
