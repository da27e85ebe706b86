"""Modules that tests write into directories of theirs, and import."""

import os
import sys


def forget_modules(directory):
    """Import what lies in a directory anew at the next import of its name."""
    written = tuple({f"{directory}{os.sep}", f"{os.path.realpath(directory)}{os.sep}"})
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)  # packages without one look at sys.path anew
        if isinstance(file, str) and file.startswith(written):
            del sys.modules[name]
