"""Texts of parameters of Keras's callbacks, and of the preparation of sequences and texts."""

from __future__ import annotations

PARAMETERS: dict[str, str] = {}

_MONITORS = "keras.callbacks.EarlyStopping keras.callbacks.ReduceLROnPlateau keras.callbacks.ModelCheckpoint"

SCOPED: dict[str, dict[str, str]] = {
    "keras.callbacks.": {
        "verbose": "0 prints nothing, 1 a line for what is done.",
        "stateful_metrics": "Names of the metrics whose values are shown as they are, not averaged over batches.",
    },
    _MONITORS: {
        "monitor": 'Name of the quantity that is watched, such as "val_loss".',
        "mode": '"min" if less is better, "max" if more is, "auto" to decide by the name.',
    },
    "keras.callbacks.EarlyStopping": {
        "min_delta": "Change that counts as an improvement at least.",
        "patience": "Number of epochs without an improvement after which the training ends.",
        "baseline": "Value that has to be improved on; None for none.",
        "restore_best_weights": "Whether the model gets the weights of its best epoch when the training is ended.",
    },
    "keras.callbacks.ReduceLROnPlateau": {
        "factor": "What the learning rate is multiplied with, below 1.",
        "patience": "Number of epochs without an improvement after which the learning rate is reduced.",
        "min_delta": "Change that counts as an improvement at least.",
        "cooldown": "Number of epochs after a reduction that do not count.",
        "min_lr": "Smallest learning rate.",
        "**kwargs": "`epsilon`, the former name of `min_delta`.",
    },
    "keras.callbacks.ModelCheckpoint": {
        "filepath": "Path of what is saved, with fields for the epoch and for what was measured: "
        '"weights.{epoch:02d}-{val_loss:.2f}".',
        "save_best_only": "Whether to save only when the watched quantity is better than ever before.",
        "save_weights_only": "Whether to save the weights, and not the whole model.",
        "save_freq": '"epoch" to save after epochs, or a number of examples.',
        "**kwargs": "`period`, the number of epochs from one saving to the next, and `load_weights_on_restart`, "
        "whether to start from what was saved last.",
    },
    "keras.callbacks.LearningRateScheduler": {
        "schedule": "Function of the epoch, from 0, or of the epoch and the current learning rate, that returns the "
        "learning rate.",
    },
    "keras.callbacks.LambdaCallback": {
        "on_epoch_begin": "Function of the epoch and the logs, called before an epoch.",
        "on_epoch_end": "Function of the epoch and the logs, called after an epoch.",
        "on_batch_begin": "Function of the batch and the logs, called before a batch.",
        "on_batch_end": "Function of the batch and the logs, called after a batch.",
        "on_train_begin": "Function of the logs, called before the training.",
        "on_train_end": "Function of the logs, called after the training.",
        "**kwargs": "Functions for other methods of a callback, by name.",
    },
    "keras.callbacks.ProgbarLogger": {"count_mode": '"samples" to count examples, "steps" to count batches.'},
    "keras.callbacks.CSVLogger": {
        "filename": "Path of the file.",
        "separator": "Character between the values of a line.",
        "append": "Whether to continue an existing file, and not to replace it.",
    },
    "keras.callbacks.RemoteMonitor": {
        "root": "URL of the server.",
        "path": "Path on the server.",
        "field": "Field of the form that holds the values as JSON.",
        "headers": "HTTP headers that are added.",
        "send_as_json": "Whether the values themselves are sent as JSON, and not in a form.",
    },
    "keras.callbacks.TensorBoard": {
        "log_dir": "Folder of the event files.",
        "histogram_freq": "Number of epochs from one set of histograms to the next, 0 for none. In a graph they need "
        "validation data, and show outputs of layers too.",
        "batch_size": "Number of examples that are embedded at once.",
        "write_graph": "Whether the graph is written.",
        "write_grads": "Whether histograms in a graph show gradients too.",
        "write_images": "Whether weights are written as images, with the histograms.",
        "embeddings_freq": "Number of epochs from one set of embeddings to the next, 0 for none.",
        "embeddings_layer_names": "Names of the layers whose outputs are written; None for all layers `Embedding`.",
        "embeddings_metadata": "Path of a file that describes the rows, or such paths by the names of layers.",
        "embeddings_data": "Inputs of the model whose outputs are written, one row for each.",
        "update_freq": '"epoch", "batch", or a number of examples: how often what is measured is written.',
        "profile_batch": "Number of the batch to profile; accepted, but batches are not profiled.",
    },
    "keras.preprocessing.sequence.pad_sequences": {
        "sequences": "List of sequences.",
        "maxlen": "Length of the result; None for that of the longest sequence.",
        "dtype": "Type of the result.",
        "padding": '"pre" to pad at the start, "post" at the end.',
        "truncating": '"pre" to leave out the start of long sequences, "post" their end.',
        "value": "What short sequences are padded with.",
    },
    "keras.preprocessing.sequence.make_sampling_table": {
        "size": "Number of words.",
        "sampling_factor": "Frequency below which words are always kept; with a smaller one, fewer words are kept.",
    },
    "keras.preprocessing.sequence.skipgrams": {
        "sequence": "Indices of words; 0 is no word.",
        "vocabulary_size": "One more than the largest index.",
        "window_size": "Number of places on each side in which a word is near.",
        "negative_samples": "Number of random pairs for each pair of near words.",
        "shuffle": "Whether the pairs are shuffled.",
        "categorical": "Whether labels are [0, 1] and [1, 0], and not 1 and 0.",
        "sampling_table": "Probability to keep a word, by index; None to keep all.",
        "seed": "Seed of the order.",
    },
    "keras.preprocessing.sequence.TimeseriesGenerator": {
        "data": "Array or list whose first dimension is time.",
        "targets": "Array or list of the targets, as long as the data.",
        "length": "Number of places of a window.",
        "sampling_rate": "Distance of the places of a window that are used.",
        "stride": "Distance of a window to the next.",
        "start_index": "Place of the data at which the first window starts.",
        "end_index": "Last place of a target; None for the end.",
        "shuffle": "Whether windows are drawn at random.",
        "reverse": "Whether windows run backwards in time.",
        "batch_size": "Number of windows of a batch.",
    },
    "keras.preprocessing.text.": {
        "text": "The text.",
        "n": "Number of indices, 0 included, which no word gets.",
        "hash_function": 'Function from a word to an integer, or "md5"; None for Python\'s `hash`.',
        "filters": "Characters that are replaced by the separator.",
        "lower": "Whether words are converted to lower case.",
        "split": "The separator of words.",
        "json_string": "Result of `Tokenizer.to_json`.",
    },
    "keras.preprocessing.text.Tokenizer": {
        "num_words": "Words with this index or a higher one are left out; None to keep all.",
        "char_level": "Whether each character is a word.",
        "oov_token": "Word that stands for unknown ones, with index 1; None to leave them out.",
        "document_count": "Number of texts that were counted before.",
        "**kwargs": "`nb_words`, the former name of `num_words`.",
    },
}
