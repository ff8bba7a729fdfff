"""Check that the tests notice wrong numbers: change one line of `tasks/` at a time, and run the tests.

    python -m tests.benchmarks.bench_mutations [--count 100] [--seed 0] [--processes 2] [--out mutations.csv]

Each mutation changes one operator, comparison, number, or pair of functions such as `min` and `max` inside a function.
It is applied to a copy of the package. The tests of the same subpackage run first, then all tests of `tasks/`, then
the doctests and those of the subpackages that use it; the first failure, or a run that exceeds its time limit, catches
the mutation.
Constants of modules are left out: most of them are limits and costs, of which several values are right.
"""

import argparse
import ast
import copy
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_pipeline.cluster.settings import ENVIRONMENT

ROOT = Path(__file__).parents[2]
FOLDERS = {"pipeline": ".", "tasks": "tasks", "cluster": "cluster", "configs": "configs"}
USERS = [
    "tests/test_doctests.py",
    *(f"tests/pipeline/{folder}" for folder in ("stages", "estimators", "models", "results", "test_extensions")),
]
TIME_LIMIT_S = 1200

OPERATORS: dict[type[ast.AST], Callable[[], Any]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.MatMult: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
NAMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "zeros": "ones"}
NAMES |= {second: first for first, second in NAMES.items()}


@dataclass(frozen=True)
class Mutation:
    """A change of one expression."""

    path: Path
    line: int
    number: int
    """Index of the changed node among all nodes of the module, in the order of `ast.walk`."""
    before: str
    after: str

    def source(self) -> str:
        """Return the module with the change."""
        tree = ast.parse(self.path.read_text())
        _change(list(ast.walk(tree))[self.number])
        return ast.unparse(tree)


def mutations(path: Path) -> Iterator[Mutation]:
    """Yield all mutations of a module."""
    tree = ast.parse(path.read_text())
    excluded = _excluded(tree)
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in excluded or not isinstance(node, ast.expr | ast.stmt):
            continue
        changed = copy.deepcopy(node)
        if _change(changed) and ast.unparse(changed) != ast.unparse(node):
            yield Mutation(path, node.lineno, number, ast.unparse(node), ast.unparse(changed))


def _excluded(tree: ast.Module) -> set[int]:
    """Return what is not changed: everything outside functions, annotations, messages and docstrings."""
    inside: set[int] = set()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        for statement in function.body:
            inside |= {id(node) for node in ast.walk(statement)}
    excluded = {id(node) for node in ast.walk(tree)} - inside
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            parts = [node.args, node.returns, *node.decorator_list]
        elif isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
            parts = [node]
        for part in parts:
            if part is not None:
                excluded |= {id(found) for found in ast.walk(part)}
    return excluded


def _change(node: Any) -> bool:
    """Change a node in place; return whether there is a change for its type."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in OPERATORS:
        node.op = OPERATORS[type(node.op)]()
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        node.ops[0] = OPERATORS[type(node.ops[0])]()
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        node.value = not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        node.value += 1
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        node.op = ast.UAdd()
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        node.attr = NAMES[node.attr]
    elif isinstance(node, ast.Name) and node.id in NAMES:
        node.id = NAMES[node.id]
    else:
        return False
    return True


def tests_of(module: Path) -> list[list[str]]:
    """Return the tests to run for a module, in order; those of a later stage include no earlier ones twice."""
    own = ROOT / "tests" / module.parent.relative_to(ROOT)
    first = [str(own.relative_to(ROOT))] if own != ROOT / "tests/tasks" else []
    others = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests/tasks").iterdir()) if _has_tests(path)]
    return [tests for tests in (first, [path for path in others if path not in first], USERS) if tests]


def _has_tests(path: Path) -> bool:
    return path.name.startswith("test_") or (path.is_dir() and path.name != "__pycache__")


def is_caught(mutation: Mutation, package: Path) -> str:
    """Return which tests catch a mutation, or nothing."""
    place = package / "kernel_pipeline" / mutation.path.relative_to(ROOT)
    original = place.read_text()
    place.write_text(mutation.source())
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        for tests in tests_of(mutation.path):
            options = ["-n0", "-x", "-q", "-p", "no:cacheprovider", f"--basetemp={package / 'pytest'}"]
            command = [sys.executable, "-m", "pytest", *options, *tests]
            try:
                done = subprocess.run(
                    command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT_S
                )
            except subprocess.TimeoutExpired:
                return "time limit"
            if done.returncode:
                failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                return failed[0].split(" - ")[0] if failed else f"exit code {done.returncode}"
    finally:
        place.write_text(original)
    return ""


def copy_package(folder: Path) -> Path:
    """Copy the package as it is installed."""
    for source, place in FOLDERS.items():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / source, folder / "kernel_pipeline" / place, dirs_exist_ok=True, ignore=ignored)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("mutations.csv"))
    arguments = parser.parse_args()
    every = [found for path in sorted((ROOT / "tasks").rglob("*.py")) for found in mutations(path)]
    chosen = random.Random(arguments.seed).sample(every, arguments.count)
    print(f"{len(chosen)} of {len(every):,} mutations, seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.processes) as pool:
        packages = [copy_package(Path(folder, str(number))) for number in range(arguments.processes)]

        def judge(mutation: Mutation) -> tuple[Mutation, str]:
            package = packages.pop()
            try:
                return mutation, is_caught(mutation, package)
            finally:
                packages.append(package)

        with arguments.out.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["file", "line", "before", "after", "caught_by"])
            survivors = 0
            for mutation, by in pool.map(judge, chosen):
                name = str(mutation.path.relative_to(ROOT))
                writer.writerow([name, mutation.line, mutation.before, mutation.after, by])
                file.flush()
                survivors += not by
                if not by:
                    print(f"survived: {name}:{mutation.line}: {mutation.before} -> {mutation.after}", flush=True)
    print(f"caught {len(chosen) - survivors} of {len(chosen)}")


if __name__ == "__main__":
    main()
