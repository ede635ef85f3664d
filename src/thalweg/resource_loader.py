"""tf.resource_loader: Files that are installed with a program."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.installation import (
    get_data_files_path as get_data_files_path,
    get_path_to_datafile as get_path_to_datafile,
    get_root_dir_with_all_resources as get_root_dir_with_all_resources,
    load_resource as load_resource,
    readahead_file_path as readahead_file_path,
)

__all__ = [
    "get_data_files_path", "get_path_to_datafile", "get_root_dir_with_all_resources", "load_resource",
    "readahead_file_path",
]
