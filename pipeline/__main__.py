"""Make `python -m kernel_pipeline` the same as the command `pipeline`."""

from kernel_pipeline.cli.entry import main

main()
