"""Define the kinds of task: what each of them reads, computes and writes."""
