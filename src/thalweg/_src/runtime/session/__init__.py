"""Sessions: fetches, feeds, partial runs, and functions about the process and its devices."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "dest_nodes": "Names of the nodes to keep with all they depend on.",
    "device": "The physical device.",
    "device_type": "Type of the devices; None means all.",
    "devices": "The devices.",
    "enable": "Accepted for compatibility; memory is always taken as needed.",
    "enabled": "Whether operations without a kernel for their device may go to another.",
    "input_graph": "The GraphDef.",
    "input_graph_def": "The GraphDef.",
    "input_name": "Name of the input, as in a NodeDef.",
    "output_node_names": "Names of the nodes to keep.",
    "protected_nodes": "Names of nodes to keep.",
    "target": "Address of the server that runs the steps; the empty string runs them in this process.",
    "variable_names_blacklist": "Names of the variables to leave as they are.",
    "variable_names_whitelist": "Names of the variables to convert; None converts all.",
}
