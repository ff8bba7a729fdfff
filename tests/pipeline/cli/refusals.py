"""Runs that must be refused."""

from pathlib import Path

from click.testing import CliRunner, Result

from kernel_pipeline.cli.main import main
from kernel_pipeline.errors import PipelineError, RefusedError
from tests.helpers.build import listing

OCCUPIED = RefusedError.exit_code
GAMMA = ("dataset", 0, "kernels", 0, "log2_gamma")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["run", *arguments])


def refused(folder: Path, *arguments: str, code: int = PipelineError.exit_code) -> str:
    """Run `pipeline run`, which must be refused, and return its message."""
    before = listing(folder)
    result = run(*arguments)
    assert listing(folder) == before
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.output
    assert len([line for line in result.stderr.splitlines() if line.startswith("Error:")]) == 1
    return result.stderr
