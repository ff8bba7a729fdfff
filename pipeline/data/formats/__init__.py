"""Read file formats, one module each.

The module of a format registers a `Format`. To add a format, write such a module and add its name to `BUILT_IN`. All
modules are imported when a config is validated, so they import pandas and other large libraries only inside their
readers.
"""

from importlib import import_module

BUILT_IN = ("delimited", "libsvm", "arff", "npz", "arrow")

for _name in BUILT_IN:
    import_module(f"{__name__}.{_name}")
