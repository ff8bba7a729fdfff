"""The run directory: arrays, ledger, digests and locks, on local disks and in object stores."""
