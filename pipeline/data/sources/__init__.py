"""Read data sources, one module each.

The module of a source defines the model of its datasets (the keys of a config) and its reader. To add a source, write
such a module and add its name to `BUILT_IN`. All modules are imported when a config is validated, so they import pandas
and other large libraries only inside their readers.
"""

from importlib import import_module

BUILT_IN = ("file", "openml", "scikit_learn", "synthetic", "text", "sentiment")

for _name in BUILT_IN:
    import_module(f"{__name__}.{_name}")
