"""Start the command line. Ctrl-C is handled from the beginning, also while modules are imported."""

import sys

from kernel_pipeline.cli.stopping import report_stop


def main() -> None:
    """Import and run the command line."""
    try:
        from kernel_pipeline.cli.main import main as commands
    except KeyboardInterrupt:
        sys.exit(report_stop(sys.argv[1:]))
    commands()
