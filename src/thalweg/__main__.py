"""The command `python -m thalweg`."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.tools.cli.main import module_main

if __name__ == "__main__":
    module_main()
