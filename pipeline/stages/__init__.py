"""Define the task types: what each of them reads, computes and writes."""
