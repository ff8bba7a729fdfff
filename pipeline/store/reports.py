"""Define the reports of tasks, which workers send and the ledger stores."""

from dataclasses import dataclass
from typing import Any, Self

from kernel_pipeline.store.json_object import JsonObject
from kernel_pipeline.store.json_text import dump_json, parse_json
from kernel_pipeline.store.keys import is_digest_of_inputs, is_entry_name
from kernel_pipeline.store.ledger_entries import ARRAY_KEYS, LedgerEntry, read_shared_fields

OK = "ok"
"""The status of a cell that has a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport(LedgerEntry):
    """The report of a task that is finished, or that failed and is retried only on request.

    Examples
    --------
    >>> report = TaskReport(task="reduce/wave/regression", result_json=b'{"status": "ok"}')
    >>> report.result, report.failures
    ({'status': 'ok'}, [])
    """

    task: str
    """Name of the task."""
    result_json: bytes = b"{}"
    """The result as a JSON text, which needs less memory than an object: a driver holds very many reports."""
    failed: str = ""
    """Reason why the task has no outputs; empty if it succeeded."""
    inputs: str = ""
    """Digest of what the task has read (`store.inputs.ledger_digest`).

    It is empty for tasks that failed, and in ledgers of earlier versions.
    """

    @property
    def name(self) -> str:
        return self.task

    @property
    def result(self) -> dict[str, Any]:
        """The result as a JSON object, which `Task.read_result` turns into a typed one."""
        found: dict[str, Any] = parse_json(self.result_json)
        return found

    @property
    def failures(self) -> list[str]:
        """Reasons why the task, or cells whose results it reports, failed; empty if nothing failed."""
        if self.failed:
            return [self.failed]
        return [status for status in _statuses(JsonObject(self.result, "the result")) if status != OK]

    @property
    def may_succeed_later(self) -> bool:
        """Whether a retry of the task may succeed.

        It cannot if the task finished but reports cells without a valid fit, since the data are the same.
        """
        return bool(self.failed)

    def _own_json(self) -> dict[str, Any]:
        return self.result

    def to_json(self) -> dict[str, Any]:
        inputs = {"inputs": self.inputs} if self.inputs else {}
        return LedgerEntry.to_json(self) | {"failed": self.failed} | inputs

    @classmethod
    def from_json(cls, line: JsonObject) -> Self:
        name, inputs, result = line.text("name"), line.text("inputs", ""), line.object("result")
        if not is_entry_name(name):
            raise line.error("name", "the name of a task")
        if not is_digest_of_inputs(inputs):
            raise line.error("inputs", "a digest of inputs")
        _statuses(result)
        return cls(
            task=name,
            result_json=dump_json(result.members),
            failed=line.text("failed", ""),
            inputs=inputs,
            **read_shared_fields(line, ARRAY_KEYS),
        )


def _statuses(result: JsonObject) -> list[str]:
    """Return the status of a result and those of its trials; a result without one is ok.

    Raises
    ------
    ValueError
        If a status is not a string.
    """
    statuses = [result.text("status", OK)]
    if "trials" in result:
        trials = result.object("trials")
        statuses += [trials.object(trial).text("status", OK) for trial in trials.names()]
    return statuses
