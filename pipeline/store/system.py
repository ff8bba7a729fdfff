"""Which system a process runs in: hosts and containers may share a name, and process numbers as well."""

from pathlib import Path

MACHINE, BOOT, PROCESSES = Path("/etc/machine-id"), Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
FIRST_PROCESSES = "pid:[4026531836]"
"""The namespace of processes that Linux starts with, whose number is fixed; containers have others."""


def system_facts() -> dict[str, str]:
    """The machine, when it was started, and the namespace that process numbers are of; empty where not known."""
    try:
        processes = str(PROCESSES.readlink())
    except OSError:
        processes = ""
    return {"machine": _read(MACHINE), "boot": _read(BOOT), "processes": processes}


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()[:64]
    except OSError:
        return ""
