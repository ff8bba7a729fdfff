"""`python -m pipeline` is the same as `pipeline`."""

from pipeline.cli import main

main()
