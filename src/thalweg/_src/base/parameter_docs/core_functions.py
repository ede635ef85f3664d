"""Texts of parameters that hold for single functions and classes directly under `tf`."""

from __future__ import annotations

_ASSERTIONS = (
    "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near assert_negative "
    "assert_non_negative assert_non_positive assert_none_equal assert_positive assert_rank assert_rank_at_least "
    "assert_rank_in debugging.assert_shapes"
)
_REDUCTIONS = (
    "reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum reduce_join "
    "math.reduce_euclidean_norm math.reduce_std math.reduce_variance count_nonzero "
    "sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum sparse_reduce_sum_sparse"
)
_QUEUES = "FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue QueueBase"
_READERS = "FixedLengthRecordReader IdentityReader TFRecordReader TextLineReader WholeFileReader"
_COLLECTIONS = (
    "all_variables local_variables model_variables moving_average_variables trainable_variables get_collection "
    "losses.get_losses losses.get_regularization_losses losses.get_regularization_loss losses.get_total_loss "
    "summary.merge_all"
)
_SCATTERS = (
    "scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_sub scatter_update batch_scatter_update"
)
_SCATTERS_ND = "scatter_nd_add scatter_nd_sub scatter_nd_update"
_TENSOR_SCATTERS = (
    "tensor_scatter_add tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update "
    "scatter_nd"
)
_FAKE_QUANT = (
    "fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel "
    "fake_quant_with_min_max_vars_per_channel_gradient fake_quant_with_min_max_args "
    "fake_quant_with_min_max_args_gradient"
)
_LOOPS = "foldl foldr scan map_fn"
_UNSORTED_SEGMENTS = (
    "unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n "
    "unsorted_segment_sum strings.unsorted_segment_join"
)
_SEGMENTS = "segment_max segment_mean segment_min segment_prod segment_sum " + _UNSORTED_SEGMENTS
_SPARSE_SEGMENTS = "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum"
_INITIALIZERS = (
    "constant_initializer glorot_normal_initializer glorot_uniform_initializer ones_initializer zeros_initializer "
    "orthogonal_initializer random_normal_initializer random_uniform_initializer truncated_normal_initializer "
    "uniform_unit_scaling_initializer variance_scaling_initializer initializers.identity"
)

SCOPED: dict[str, dict[str, str]] = {
    "install_as_tensorflow": {
        "force": "Whether to take the name of a TensorFlow that is installed too; otherwise that is refused.",
        "legacy": "Whether to restore names that NumPy, SciPy, Python and others have removed since, such as `np.int`.",
    },
    "Assert": {
        "condition": "Boolean tensor; the step fails unless all of it is true.",
        "data": "Tensors that are printed with the error.",
    },
    _ASSERTIONS: {
        "x": "The tensor to check.",
        "y": "The tensor to compare with.",
        "data": "Tensors that are printed with the error; by default the inputs.",
        "summarize": "How many entries of each tensor are printed with the error.",
        "rank": "The expected rank.",
        "shapes": "Pairs (tensor, shape), or a dictionary of shapes by tensor.",
    },
    "assert_integer": {"x": "The tensor to check."},
    "assert_proper_iterable": {"values": "The object to check."},
    "assert_same_float_dtype": {"tensors": "The tensors to check.", "dtype": "The expected type, if there is one."},
    "assert_scalar assert_type check_numerics": {"tensor": "The tensor to check."},
    "verify_tensor_all_finite": {
        "t": "The tensor to check.",
        "x": "Another name of `t`.",
        "msg": "Text of the error.",
        "message": "Another name of `msg`.",
    },
    "check_numerics debugging.check_numerics": {"message": "Text of the error."},
    "is_tensor": {"x": "The value to test."},
    "is_numeric_tensor": {"tensor": "The value to test."},
    "is_variable_initialized": {"variable": "The variable to test."},
    "is_non_decreasing is_strictly_increasing": {"x": "The tensor to test."},
    "Call": {
        "function": "The function to call.",
        "args": "Its positional arguments; an `Input` stands for an input of the node.",
        "kwargs": "Its keyword arguments.",
    },
    "ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator": {
        "dtype": "Element type of the gradients.",
        "shape": "Static shape of the gradients.",
        "name": "A name for the accumulator.",
    },
    "CriticalSection": {
        "name": "A name for the section.",
        "import_scope": "Accepted for compatibility and ignored.",
        "shared_name": "Name by which sections are the same one.",
    },
    "Dimension": {"value": "The size, or None if it is unknown."},
    _QUEUES: {
        "name": "A name for the queue.",
        "dtypes": "Element type of each component of an element.",
        "shapes": "Static shape of each component; None leaves the shapes open.",
    },
    "RandomShuffleQueue": {
        "min_after_dequeue": "Number of elements that stay in the queue until it is closed, to choose from."
    },
    "QueueBase": {"queue_ref": "Handle of the queue."},
    "PaddingFIFOQueue": {"shapes": "Static shape of each component; unknown sizes are padded."},
    _READERS: {"name": "A name for the reader."},
    "FixedLengthRecordReader": {"encoding": "Compression of the records: None or an empty string for none."},
    "TFRecordReader": {"options": "A `TFRecordOptions` with the compression of the files."},
    "FixedLenFeature": {
        "shape": "Shape of the values of one example.",
        "dtype": "Element type of the values.",
        "default_value": "Value of examples that lack the feature; None makes it required.",
    },
    "FixedLenSequenceFeature": {
        "shape": "Shape of one entry of the sequence.",
        "dtype": "Element type of the values.",
        "default_value": "Value that fills shorter sequences of a batch.",
    },
    "SparseFeature VarLenFeature": {"dtype": "Element type of the values."},
    "SparseFeature": {"size": "Size of the dense dimension; a list for several dimensions."},
    "IndexedSlices IndexedSlicesValue": {
        "values": "The slices.",
        "indices": "Position of each slice in the dense tensor.",
        "dense_shape": "Shape of the dense tensor, if it is known.",
    },
    "SparseTensor SparseTensorValue": {
        "indices": "Positions of the values: int64 [count, rank].",
        "values": "The values: a vector.",
        "dense_shape": "Shape of the dense tensor: an int64 vector.",
    },
    "TensorSpec SparseTensorSpec TypeSpec data.experimental.TensorStructure data.experimental.SparseTensorStructure": {
        "shape": "Static shape, as far as it is known.",
        "dtype": "Element type.",
        "name": "A name for the component.",
    },
    "Session InteractiveSession": {"graph": "The graph to run; by default the current default graph."},
    "Module": {"name": "Name of the module and of its name scope."},
    "Operation": {
        "graph": "The graph it belongs to.",
        "name": "Its name, unique in the graph.",
        "inputs": "Its input tensors.",
        "device": "The requested device, as a string.",
        "stack": "The lines of user code that made the operation.",
    },
    "Tensor": {"op": "The operation that computes it.", "dtype": "Element type.", "shape": "Static shape."},
    "TensorArray": {
        "dtype": "Element type.",
        "size": "Number of elements.",
        "name": "A name for the array's operations.",
    },
    "Variable contrib.eager.Variable": {
        "dtype": "Element type; by default that of the initial value.",
        "name": "Name of the variable; it is made unique.",
        "shape": "Static shape of the variable; by default that of the initial value.",
        "import_scope": "Name scope to put before the names in `variable_def`.",
        "collections": "Collections that the variable is added to; by default `GLOBAL_VARIABLES`.",
    },
    "VariableScope": {
        "name": "Name of the scope, the prefix of its variables.",
        "dtype": "Default type of variables.",
        "initializer": "Default initializer.",
        "regularizer": "Default regularizer.",
        "caching_device": "Default caching device.",
        "partitioner": "Default partitioner.",
        "constraint": "Default constraint.",
        "custom_getter": "Default custom getter.",
    },
    "variable_scope variable_op_scope": {
        "default_name": "Name to use if `name_or_scope` is None; it is made unique.",
        "values": "Tensors whose graph is used.",
        "initializer": "Default initializer of variables made inside.",
        "regularizer": "Default regularizer of variables made inside.",
        "caching_device": "Default caching device of variables made inside.",
        "partitioner": "Default partitioner of variables made inside.",
        "constraint": "Default constraint of variables made inside.",
        "custom_getter": "Default custom getter of variables made inside.",
        "dtype": "Default type of variables made inside.",
    },
    "name_scope op_scope": {
        "name": "Name of the scope; None takes `default_name`, an empty string leaves all scopes.",
        "values": "Tensors whose graph is used.",
    },
    "get_variable get_local_variable contrib.framework.variable contrib.framework.model_variable": {
        "name": "Name of the variable in the current scope.",
        "shape": "Shape of the variable.",
        "dtype": "Element type of the variable.",
        "initializer": "Function or value that gives the initial value; by default that of the scope.",
        "collections": "Collections that a new variable is added to.",
        "device": "Device of the variable: a name or a function.",
    },
    "get_local_variable": {"trainable": "Ignored: local variables are not trained."},
    "create_partitioned_variables": {
        "shape": "Shape of the whole variable.",
        "dtype": "Element type of the variable.",
        "name": "Name of the variable.",
        "initializer": "Function or value that gives the initial value.",
        "collections": "Collections that the parts are added to.",
    },
    _COLLECTIONS: {
        "scope": "Regular expression that names must match at their start; None takes all.",
        "key": "Name of the collection.",
    },
    "get_collection_ref": {"key": "Name of the collection."},
    "add_to_collection": {"name": "Name of the collection.", "value": "The object to add."},
    "add_to_collections": {"names": "Names of the collections.", "value": "The object to add."},
    "assert_variables_initialized report_uninitialized_variables": {
        "var_list": "The variables to check; by default all global and local ones."
    },
    "initialize_variables": {"var_list": "The variables to initialize."},
    "assign assign_add assign_sub": {
        "value": "The new value, or the amount to add or subtract.",
        "validate_shape": "Accepted for compatibility; the shape of a variable does not change.",
    },
    "count_up_to": {"ref": "The integer variable.", "limit": "Value at which it fails."},
    _SCATTERS: {"indices": "Rows of the variable to update."},
    _SCATTERS_ND: {
        "indices": "Positions to update; the last dimension holds one index vector.",
        "updates": "The values to write, one element or slice for each index vector.",
    },
    _TENSOR_SCATTERS: {
        "tensor": "The tensor to start from.",
        "indices": "Positions to update; the last dimension holds one index vector.",
        "updates": "The new values, one element or slice for each index vector.",
    },
    "gather": {
        "indices": "The indices of the slices.",
        "validate_indices": "Ignored: indices are always checked.",
        "axis": "The axis of `params` to take slices from.",
    },
    "gather_nd": {"indices": "Positions to take; the last dimension holds one index vector."},
    "batch_gather": {"indices": "Indices along the last dimension that `params` and `indices` have in common."},
    "dynamic_stitch": {
        "indices": "List of integer tensors: rows of the result that the data go to.",
        "data": "List of tensors with one slice for each index.",
    },
    "dynamic_partition": {
        "data": "The rows to distribute.",
        "partitions": "Number of the part that each row of `data` belongs to.",
    },
    "one_hot": {
        "indices": "Indices of the entries that are on.",
        "depth": "Size of the new dimension.",
        "axis": "Position of the new dimension; -1 makes it the last.",
        "dtype": "The element type of the result; by default that of the values.",
    },
    "unravel_index": {"indices": "Flat indices.", "dims": "Shape that the indices refer to."},
    _REDUCTIONS: {
        "axis": "The axes to reduce, an integer or a list; None reduces all.",
        "input": "Deprecated name of `input_tensor`.",
        "inputs": "The strings to join.",
    },
    "norm linalg.normalize": {
        "axis": "One axis for vector norms, two for matrix norms; None takes all elements as one vector."
    },
    "argmax argmin": {"axis": "The axis to reduce; 0 by default."},
    "arg_max arg_min": {"dimension": "The axis to reduce."},
    "argsort sort": {"values": "The tensor to sort.", "axis": "The axis to sort along; the last by default."},
    "searchsorted": {"values": "Rows of values to find."},
    "approx_top_k math.approx_max_k math.approx_min_k": {
        "k": "Number of entries to return.",
        "operand": "The input tensor.",
    },
    "math.top_k": {
        "k": "Number of entries to return.",
        "sorted": "Whether the entries come in decreasing order.",
        "index_type": "The integer type of the indices that are returned.",
    },
    "as_string": {
        "width": "Smallest number of characters; -1 does not pad.",
        "fill": 'What pads to `width`: a space, "0", or "-" to pad on the right.',
    },
    "bincount": {"weights": "Weight of each integer, which is summed in place of 1."},
    "bitcast": {"type": "The new element type, whose size need not be the same."},
    "boolean_mask": {"axis": "The axis of the tensor where the mask begins; 0 by default."},
    "broadcast_to ensure_shape": {"shape": "The shape."},
    "case": {
        "exclusive": "Whether more than one true predicate is an error.",
        "default": "Function to call if no predicate is true.",
    },
    "saturate_cast": {"value": "The tensor to convert."},
    "clip_by_norm": {"axes": "The axes over which each norm is computed; None takes the whole tensor."},
    "contrib.opt.clip_gradients_by_global_norm": {"clip_norm": "The largest allowed common norm."},
    "colocate_with": {"op": "The operation or tensor whose device is used."},
    "concat": {"values": "The tensors to join.", "axis": "The axis to join along."},
    "quantized_concat": {"values": "The quantized tensors.", "concat_dim": "The axis to join along."},
    "stack parallel_stack": {"values": "The tensors to stack.", "axis": "Position of the new axis."},
    "unstack": {
        "value": "The tensor to take apart.",
        "num": "Size of the axis, if it is not known statically.",
        "axis": "The axis to take apart.",
    },
    "split": {
        "value": "The tensor to split.",
        "num": "Number of parts, if the sizes are a tensor of unknown shape.",
        "axis": "The axis to split.",
    },
    "confusion_matrix": {
        "labels": "The true classes.",
        "predictions": "The predicted classes.",
        "num_classes": "Number of classes; by default one more than the largest label or prediction.",
        "weights": "Weight of each prediction.",
        "name": "A name for the operations that are added to the graph.",
    },
    "constant": {
        "value": "The value: a number, a list, or an array.",
        "dtype": "The element type; by default that of the value.",
        "shape": "The shape; by default that of the value. A single value fills it.",
    },
    "constant_initializer": {"value": "A number, or a list of the values."},
    "convert_to_tensor convert_to_tensor_or_indexed_slices convert_to_tensor_or_sparse_tensor": {
        "value": "The value to convert.",
        "dtype": "The element type; by default that of the value.",
    },
    "make_tensor_proto": {
        "values": "The value: a number, a list, or an array.",
        "dtype": "The element type; by default that of the value.",
        "shape": "The shape; by default that of the value.",
    },
    "make_ndarray": {"tensor": "The TensorProto."},
    "get_static_value": {"tensor": "The tensor to evaluate."},
    "control_dependencies": {
        "control_inputs": "Operations and tensors to wait for; None drops the dependencies of enclosing blocks."
    },
    "conv2d_backprop_filter_v2 conv2d_backprop_input_v2": {
        "input": "The input of the convolution.",
        "filter": "The kernel [height, width, channels in, channels out].",
    },
    "gradients hessians": {"gate_gradients": "Whether the gradients of an operation wait for each other."},
    "custom_gradient": {"f": "Function that returns (result, gradient function)."},
    "grad_pass_through recompute_grad": {"f": "The function to wrap."},
    "decode_compressed": {"compression_type": '"ZLIB", "GZIP", or "" for none.', "bytes": "The strings."},
    "decode_raw": {"bytes": "Deprecated name of `input_bytes`.", "out_type": "The type of the numbers."},
    "dequantize": {
        "mode": '"MIN_COMBINED", "MIN_FIRST" or "SCALED": how integers map to the range.',
        "axis": "Axis with ranges of its own for each slice; None has one range.",
    },
    "quantize quantize_v2": {
        "mode": '"MIN_COMBINED", "MIN_FIRST" or "SCALED": how the range maps to integers.',
        "axis": "Axis with ranges of its own for each slice; None has one range.",
    },
    "deserialize_many_sparse": {"dtype": "Element type of the values.", "rank": "Rank of the tensors, if known."},
    "dimension_at_index": {"shape": "The static shape.", "index": "Number of the dimension."},
    "compat.dimension_value dimension_value": {"dimension": "A `Dimension`, an integer or None."},
    "einsum": {"*inputs": "The tensors to contract.", "**kwargs": "Accepted for compatibility; only `name` is used."},
    "depth_to_space space_to_depth": {"input": "Images [batch, height, width, channels]."},
    "expand_dims": {"axis": "Position of the new axis."},
    "extract_image_patches": {"padding": '"SAME" pads with zeros, "VALID" takes complete windows alone.'},
    _FAKE_QUANT: {"inputs": "The numbers to quantize."},
    "fill": {"dims": "The shape of the result.", "value": "The scalar to fill it with."},
    "fingerprint": {"data": "A tensor with one row for each fingerprint.", "method": 'The hash: "farmhash64".'},
    "fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner sparse_split": {
        "axis": "The axis to split."
    },
    _LOOPS: {
        "initializer": "The first state; by default the first element.",
        "infer_shape": "Whether the shapes of all results are assumed equal to that of the first.",
        "dtype": "Types of the results, a nest; by default those of `elems`.",
    },
    "foldl foldr scan": {"fn": "Function from a state and an element to the next state."},
    "map_fn": {"fn": "Function from an element to a result."},
    "get_seed": {"op_seed": "Seed of the operation, or None."},
    "set_random_seed": {"seed": "The seed of the graph."},
    "guarantee_const": {"input": "The tensor."},
    "identity_n shape_n": {"input": "The tensors."},
    "histogram_fixed_width histogram_fixed_width_bins": {"values": "The numbers to count."},
    "import_graph_def": {"name": 'Prefix of the imported names; "import" by default.'},
    "kernel": {
        "priority": "Among kernels that serve a node the highest number wins.",
        "cpu_types": "Types `T` that other devices have no kernel for; such nodes are placed on the CPU.",
        "dense": "Names of inputs that native code reads without their strides; others than dense values are copied.",
    },
    "register_tensor_conversion_function": {"priority": "Functions with a lower number are tried first."},
    "lin_space": {"start": "The first value.", "num": "Number of values."},
    "range": {
        "start": "The first value; with one argument, the limit.",
        "dtype": "The element type; by default the common type of the arguments.",
        "delta": "The step.",
        "limit": "Upper bound, excluded.",
    },
    "make_template": {"**kwargs": "Keyword arguments that are bound to the function."},
    "matching_files": {"pattern": "Patterns of file names, with `*` and `?`."},
    "matrix_diag matrix_diag_part matrix_set_diag": {
        "k": "The diagonal, 0 for the main one and positive above it, or the first and last of a band.",
        "input": "The matrices.",
    },
    "matrix_diag": {"num_rows": "Number of rows; by default as many as the diagonals need."},
    "matrix_solve matrix_triangular_solve matrix_solve_ls": {
        "matrix": "The matrices of the equations.",
        "adjoint": "Whether the equations have the conjugate transpose of `matrix`.",
    },
    "matrix_inverse": {"adjoint": "Whether the conjugate transpose of the inverse is returned."},
    "matrix_band_part matrix_determinant cholesky matrix_square_root qr linalg.expm linalg.logm": {
        "input": "The matrices."
    },
    "svd self_adjoint_eig self_adjoint_eigvals linalg.eig linalg.eigvals": {"tensor": "The matrices."},
    "matrix_transpose transpose": {"a": "The input tensor."},
    "meshgrid": {
        "*args": "The coordinates along each axis, vectors.",
        "indexing": '"xy" swaps the first two dimensions, "ij" keeps the order of the vectors.',
    },
    "autograph. contrib.autograph.": {
        "entity": "A function, a method, or an object with a method `__call__`.",
        "recursive": "Whether functions that the function calls are converted too.",
        "arg_values": "Ignored: conversion does not depend on arguments.",
        "arg_types": "Ignored: conversion does not depend on arguments.",
        "indentation": "Text of one level of indentation.",
        "experimental_optional_features": "Ignored: all features are active.",
        "optional_features": "Ignored: all features are active.",
        "user_requested": "Ignored.",
        "func": "The function to mark; None to use it as a decorator with parentheses.",
        "shape_invariants": "Pairs (variable, shape), for variables whose shape changes between iterations.",
        "level": "How much is logged: 0 nothing, 1 the converted functions, 10 their code too.",
        "alsologtostdout": "Whether the log is written to stdout instead of stderr.",
        "*args": "The values to print.",
    },
    "multinomial random.categorical": {
        "logits": "Unscaled log probabilities [batch, classes].",
        "dtype": "Integer type of the result.",
    },
    "numpy_function py_func": {"func": "Function from NumPy arrays to arrays."},
    "py_function": {"func": "Function from eager tensors to tensors or arrays."},
    "op": {
        "name": "Name of the op type.",
        "signature": 'Inputs and outputs, such as "a: T, b: T -> product: T".',
        "infer": "Function that infers the static shapes of the outputs.",
        "evaluate": "Function that returns the value of a small integer output if static facts decide it.",
        "host": "Names of the inputs and outputs that are in host memory on every device.",
        "numbers": "Names of the inputs that the kernel also takes as Python numbers.",
        "differentiable": "Whether gradients may flow through it.",
        "from_shapes": "Function that returns the outputs' values if the inputs' shapes decide them.",
        "doc": "Its docstring.",
        "**attrs_and_facts": "Attributes by name, each an AttrDef, a set of types or a default; and `Facts` by name.",
    },
    "orthogonal_initializer": {"gain": "Factor of the orthogonal matrix."},
    "initializers.identity": {"gain": "Factor of the identity matrix."},
    "uniform_unit_scaling_initializer": {"factor": "Factor of the values; it depends on the activation that follows."},
    "variance_scaling_initializer": {
        "scale": "Factor of the variance.",
        "mode": '"fan_in", "fan_out" or "fan_avg": the number that divides the variance.',
        "distribution": '"truncated_normal", "untruncated_normal" or "uniform".',
    },
    _INITIALIZERS: {"dtype": "Default type of the values."},
    "initializers.he_normal initializers.he_uniform initializers.lecun_normal initializers.lecun_uniform": {
        "seed": "Seed of the random values."
    },
    "pad": {
        "tensor": "The tensor to pad.",
        "mode": '"CONSTANT", "REFLECT" (without the border element) or "SYMMETRIC" (with it).',
    },
    "parse_example parse_single_example": {"features": "Specification of each feature, by key."},
    "parse_tensor": {"out_type": "Element type of the tensor."},
    "placeholder sparse_placeholder": {
        "dtype": "Element type of the fed values.",
        "shape": "Static shape of the fed values; None allows any.",
        "name": "A name for the placeholder.",
    },
    "placeholder_with_default": {"input": "The value if nothing is fed.", "shape": "Static shape of the fed values."},
    "placer register_placer": {
        "name": "Name of the placer in `config.experimental.placer`.",
        "function": "Function from a Problem to a device for each group.",
    },
    "Print": {"data": "Tensors to print.", "message": "Text to print first."},
    "print": {
        "*inputs": "Python values and tensors to print.",
        "end": "String put after the last input.",
        "sep": "String put between the inputs.",
    },
    "random_crop": {"value": "The tensor to crop.", "size": "Size of the block along each dimension."},
    "random_shuffle": {"value": "The tensor to shuffle."},
    "random_gamma random_poisson": {"shape": "Shape of the samples for each parameter."},
    "reshape": {"shape": "The new shape; one size may be -1 and is computed."},
    "sparse_reshape": {"shape": "The new dense shape; one size may be -1 and is computed."},
    "reverse": {"axis": "The axes to reverse."},
    "roll": {"shift": "How far elements move along each axis.", "axis": "The axes to move along."},
    "regex_replace": {"pattern": "The regular expression, in RE2 syntax."},
    "cumsum cumprod math.cumulative_logsumexp": {"axis": "The axis to accumulate along."},
    "repeat": {"axis": "The axis to repeat along; None flattens the tensor first."},
    "write_file": {"contents": "The string to write."},
    "sequence_mask": {"dtype": "The element type of the mask."},
    "setdiff1d": {"x": "The values to keep.", "y": "The values to remove."},
    _SEGMENTS: {"data": "The rows to combine.", "inputs": "The strings to join."},
    _UNSORTED_SEGMENTS: {"segment_ids": "Segment of each row, in any order; negative ids leave a row out."},
    _SPARSE_SEGMENTS: {
        "data": "The tensor that rows are taken from.",
        "indices": "The rows to take.",
        "segment_ids": "Segment of each index; ids must not decrease.",
        "num_segments": "Number of segments; by default one more than the last id.",
    },
    "slice": {"size": "Size along each dimension; -1 takes all that is left."},
    "strided_slice": {
        "end": "Index after the last element along each dimension.",
        "strides": "Step along each dimension; ones by default.",
        "var": "The variable that the slice is taken of, if any.",
    },
    "squeeze": {"axis": "The axes to remove; None removes all of size 1."},
    "string_join": {"inputs": "The string tensors to join, which broadcast."},
    "string_split": {
        "source": "The strings to split, a vector.",
        "sep": "The delimiter characters; an empty string splits into bytes.",
        "delimiter": "Deprecated name of `sep`.",
    },
    "string_to_hash_bucket string_to_number": {"input": "Another name of `string_tensor`."},
    "string_to_hash_bucket_strong": {"key": "Two integers that select the hash function."},
    "substr": {"len": "Number of bytes or characters."},
    "switch_case": {"default": "Function to call if no branch has the index."},
    "tensordot": {"axes": "Number of axes to sum over, or the axes of `a` and those of `b`."},
    "transpose sparse_transpose": {"perm": "The new order of the dimensions; by default reversed."},
    "tuple": {"tensors": "The tensors; None entries stay None."},
    "unique unique_with_counts": {"x": "A vector."},
    "where where_v2": {
        "condition": "A boolean tensor.",
        "x": "Values where the condition holds.",
        "y": "Values where it does not.",
    },
    "while_loop": {"swap_memory": "Whether values kept for the gradient may move to the host, and from there to disk."},
    "zeta": {"x": "The exponents.", "q": "The offsets."},
    "polygamma": {"a": "The order."},
    "betainc": {"a": "The first parameter.", "b": "The second parameter.", "x": "Upper limit of the integral."},
    "igamma igammac": {"a": "The parameter.", "x": "Limit of the integral."},
    "invert_permutation": {"x": "The permutation, an integer vector."},
    "atan2": {"y": "The ordinates.", "x": "The abscissas."},
    "pow": {"x": "The base.", "y": "The exponent."},
    "math.nextafter": {"x1": "The numbers to start from.", "x2": "The numbers to go towards."},
    "math.polyval": {"coeffs": "The coefficients, the highest power first.", "x": "Where to evaluate it."},
    "math.sobol_sample": {
        "dim": "Dimension of the points.",
        "num_results": "Number of points.",
        "skip": "Number of points to leave out at the start.",
    },
    "math.zero_fraction": {"value": "The tensor."},
    "audio.encode_wav": {"audio": "Samples [length, channels] in [-1, 1]."},
    "audio.decode_wav": {
        "desired_channels": "Number of channels to return; -1 takes those of the file.",
        "desired_samples": "Number of samples to return; -1 takes those of the file.",
    },
    "bitwise.left_shift bitwise.right_shift": {"y": "The number of bits."},
    "compat.as_str_any": {"value": "The value to convert."},
    "compat.path_to_str": {"path": "A path object, or anything else."},
    "app.run": {"main": "Function called with the arguments left; by default `main` of the main module."},
    "sparse_add": {"a": "A tensor, dense or sparse.", "b": "A tensor, dense or sparse."},
    "sparse_concat": {"axis": "The axis to join along."},
    "sparse_fill_empty_rows": {"default_value": "The value put at the first position of empty rows."},
    "sparse_mask": {"a": "The IndexedSlices."},
    "sparse_slice": {"start": "Index of the first element along each dimension.", "size": "Size along each dimension."},
    "sparse_tensor_dense_matmul": {"b": "The dense matrix."},
    "sparse_tensor_to_dense sparse_to_dense": {
        "validate_indices": "Whether positions must be in order and distinct.",
        "default_value": "Value at all other positions.",
    },
    "sparse_to_indicator sparse_merge": {"vocab_size": "Number of different ids, the size of the last dimension."},
    "sparse_matmul": {"a_is_sparse": "Whether `a` holds many zeros.", "b_is_sparse": "Whether `b` holds many zeros."},
    "serialize_tensor": {"tensor": "The tensor to serialize."},
    "space_to_batch batch_to_space": {
        "block_size": "Size of the blocks along each spatial dimension.",
        "block_shape": "Another name of `block_size`, which may differ by dimension.",
    },
    "space_to_batch space_to_batch_nd": {"paddings": "Zeros to add before and after each spatial dimension."},
    "ones_like zeros_like": {"dtype": "The element type of the result; by default that of the tensor."},
    "accumulate_n add_n": {"inputs": "The tensors to add."},
    "accumulate_n": {"shape": "Static shape of the inputs."},
    "clip_by_value clip_by_norm clip_by_average_norm": {"t": "The tensor to clip."},
    "lbeta": {"x": "The parameters, along the last dimension."},
    "trace": {"x": "The matrices."},
    "scalar_mul": {"x": "The tensor, or IndexedSlices."},
    "container": {"container_name": "Name of the container that holds the resources made inside."},
    "complex": {"real": "The real parts.", "imag": "The imaginary parts."},
    "strings.split": {"source": "Deprecated name of `input`."},
    "encode_base64": {"pad": "Whether the strings are padded with `=`."},
    "matrix_triangular_solve": {"lower": "Whether the lower triangle is used, not the upper one."},
    "cumprod cumsum math.cumulative_logsumexp": {
        "exclusive": "Whether the element itself is left out of its sum or product."
    },
    "case cond": {"strict": "Whether a result of one element stays in a list."},
    "get_session_handle": {"data": "The tensor whose value is kept."},
    "load_op_library load_file_system_library": {"library_filename": "Path of the library."},
    "load_library": {"library_location": "Path of a library, or of a folder of libraries."},
    "config.optimizer.set_experimental_options": {"options": "Values of options by name; others are kept."},
    "edit_distance": {"normalize": "Whether distances are divided by the length of the truth."},
    "GradientTape": {
        "persistent": "Whether gradients may be computed more than once.",
        "watch_accessed_variables": "Whether trainable variables are watched when they are read.",
    },
    "enable_eager_execution": {
        "config": "A ConfigProto with the devices and threads to use.",
        "device_policy": "What happens if an input is on another device; it is copied in any case.",
        "execution_mode": "SYNC or ASYNC; on a GPU, kernels always run asynchronously.",
    },
    "function contrib.eager.function contrib.eager.defun": {
        "func": "The function; without it, a decorator is returned.",
        "input_signature": "TensorSpecs of the arguments, for which the function is then traced once.",
        "autograph": "Whether Python's control flow on tensors becomes control flow of the graph.",
        "experimental_autograph_options": "Accepted for compatibility.",
        "experimental_relax_shapes": "Whether sizes that differ between calls become unknown, instead of traced again.",
        "experimental_compile": "Accepted for compatibility: functions that run often are compiled.",
    },
    "config.experimental_run_functions_eagerly": {"run_eagerly": "Whether functions run as plain Python."},
}
