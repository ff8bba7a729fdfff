"""Read and write run directories: arrays, ledger, digests and locks, on local disks and in object stores."""
