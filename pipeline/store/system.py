"""Identify the system in which a process runs: hosts and containers may share names and process numbers."""

from pathlib import Path

MACHINE, BOOT = Path("/etc/machine-id"), Path("/proc/sys/kernel/random/boot_id")
PID_NAMESPACE = Path("/proc/self/ns/pid")
INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""Initial process namespace of Linux, which has a fixed number; containers have other namespaces."""


def system_facts() -> dict[str, str]:
    """Return the ids of the machine, of its last boot and of the process namespace; empty if not known."""
    try:
        namespace = str(PID_NAMESPACE.readlink())
    except OSError:
        namespace = ""
    return {"machine": _read(MACHINE), "boot": _read(BOOT), "pid_namespace": namespace}


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()[:64]
    except OSError:
        return ""
