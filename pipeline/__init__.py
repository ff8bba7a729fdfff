"""The driver: config, plan, tasks, store, tables, and the command line over them."""

__version__ = "0.1.0"
