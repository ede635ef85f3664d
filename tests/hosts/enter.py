"""Runs a Python program at a virtual host as `thalweg run` does: arguments are a process there, a folder, the program.

Unlike nsenter, it works in a process that was forked from one that has imported thalweg.
"""

import ctypes
import os
import runpy
import sys

import thalweg


def main():
    _, process, folder, program, *arguments = sys.argv
    libc = ctypes.CDLL(None, use_errno=True)
    same = os.readlink(f"/proc/{process}/ns/user") == os.readlink("/proc/self/ns/user")
    files = [os.open(f"/proc/{process}/ns/{kind}", os.O_RDONLY) for kind in ("user", "net", "uts", "mnt")]
    for file in files[same:]:
        if libc.setns(file, 0):
            raise OSError(ctypes.get_errno(), "setns")
    for file in files:
        os.close(file)
    os.chdir(folder)
    thalweg.install_as_tensorflow(force=True)
    sys.argv, sys.path[0] = [program, *arguments], os.path.dirname(program)
    runpy.run_path(program, run_name="__main__")


main()
