"""Export of inference graphs to ONNX: steps, frozen and simplified, become models that other runtimes execute."""

# What parameters mean throughout this package; base/documentation.py adds the texts to docstrings.
PARAMETERS: dict[str, str] = {
    "input_shapes": "Shapes of inputs by name, where they are more specific than those of the tensors.",
    "inputs": "Tensors that are fed, or their names: a list, or a dictionary by the names in the model.",
    "outputs": "Tensors that are fetched, or their names: a list, or a dictionary by the names in the model.",
    "path": "File to write the model to, or None.",
    "session": "Session with the values of the variables and tables.",
    "signature": "Name of the signature.",
}
