"""tf.profiler.ProfileOptionBuilder: which operations a profile accounts for, what it shows of them, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export

Options = dict[str, Any]

_ALL = {
    "max_depth": 10000,
    "min_bytes": 0,
    "min_peak_bytes": 0,
    "min_residual_bytes": 0,
    "min_output_bytes": 0,
    "min_micros": 0,
    "min_accelerator_micros": 0,
    "min_cpu_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "step": -1,
    "account_type_regexes": (".*",),
    "start_name_regexes": (".*",),
    "trim_name_regexes": (),
    "show_name_regexes": (".*",),
    "hide_name_regexes": (),
    "account_displayed_op_only": False,
    "select": ("micros",),
    "output": "stdout",
}


@export("profiler.ProfileOptionBuilder")
class ProfileOptionBuilder:
    """Builds the options of a profile, which are a dictionary; each method returns the builder.

    Args:
        options: Options to start with; by default all operations and their time.
    """

    def __init__(self, options: Options | None = None) -> None:
        self._options: Options = {**_ALL, **(options or {})}

    @staticmethod
    def trainable_variables_parameter() -> Options:
        """Returns options that count the parameters of trainable variables."""
        return {**_ALL, "account_type_regexes": ("_trainable_variables",), "select": ("params",)}

    @staticmethod
    def float_operation() -> Options:
        """Returns options that count floating-point operations, of operations whose shapes are known."""
        return {**_ALL, "min_float_ops": 1, "order_by": "float_ops", "select": ("float_ops",)}

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> Options:
        """Returns options that show the time and memory of operations that were run."""
        least = {
            "min_micros": min_micros,
            "min_bytes": min_bytes,
            "min_accelerator_micros": min_accelerator_micros,
            "min_cpu_micros": min_cpu_micros,
            "min_peak_bytes": min_peak_bytes,
            "min_residual_bytes": min_residual_bytes,
            "min_output_bytes": min_output_bytes,
        }
        return {**_ALL, **least, "order_by": "micros", "select": ("micros", "bytes")}

    def build(self) -> Options:
        """Returns the options."""
        return dict(self._options)

    def _with(self, **options: Any) -> ProfileOptionBuilder:
        self._options.update(options)
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Shows only this many levels of the tree."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self, min_bytes: int = 0, min_peak_bytes: int = 0, min_residual_bytes: int = 0, min_output_bytes: int = 0
    ) -> ProfileOptionBuilder:
        """Shows only what allocates as much memory."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> ProfileOptionBuilder:
        """Shows only what takes as much time."""
        return self._with(
            min_micros=min_micros, min_accelerator_micros=min_accelerator_micros, min_cpu_micros=min_cpu_micros
        )

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Shows only what has as many parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Shows only what stands for as many operations."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Shows only what has as many floating-point operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> ProfileOptionBuilder:
        """Accounts only for operations of which a type, the device or the name matches a pattern."""
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> ProfileOptionBuilder:
        """Starts at, shows, hides, or cuts off below what has a name that matches a pattern."""
        filters = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(**{key: list(value) for key, value in filters.items() if value is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Accounts only for what is shown."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Prints nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Prints the profile."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Writes the profile to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Writes a timeline of each step to a file, whose name ends with the number of the step."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Orders by "name", "depth", or the total of one of the attributes that `select` takes, largest first."""
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> ProfileOptionBuilder:
        """Shows these attributes, such as "micros", "bytes", "params", "float_ops", "occurrence" and "device"."""
        return self._with(select=list(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Profiles a step that was added under this number; -1 is the mean of all."""
        return self._with(step=step)
