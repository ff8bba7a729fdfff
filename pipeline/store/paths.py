"""Names in a run directory. They are a contract that users rely on."""

CONFIG = "config.toml"
ENVIRONMENT = "environment.json"
LEDGER = "ledger.jsonl"
RESULTS = "results"
FIGURES = "figures"
LOGS = "logs"
LOCK = "lock"
MARK = "run-id"
"""File with the id of the run, where its arrays are kept outside of the run directory."""
GROUPS = ("data.zarr", "gram.zarr", "statistics.zarr", "weights.zarr", "combined.zarr")
