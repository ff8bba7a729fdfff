"""The names in a run directory, which are a contract."""

CONFIG = "config.toml"
ENVIRONMENT = "environment.json"
LEDGER = "ledger.jsonl"
RESULTS = "results"
LOGS = "logs"
LOCK = "lock"
