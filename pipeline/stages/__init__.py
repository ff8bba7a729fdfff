"""One module a stage: what its task is, and what it reads and writes."""
