"""Definition of a peer: a program by others that solves a problem which this package solves, too."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

Arrays = dict[str, Any]
"""Arrays by name, as in an .npz file."""
Call = Callable[[], Arrays]
"""The part of a program that is measured; it returns the answer."""

NAMES = ("plain", "mklpy", "himalaya", "scikit_learn", "torchkm", "minibatch_cka", "nnls", "osqp_alone")
"""Modules of this folder that define `PEER`, in the order of the table."""


class Size(NamedTuple):
    """Size of a problem."""

    n: int
    """Number of samples."""
    p: int
    """Number of kernels; of views for the similarity."""

    def __str__(self) -> str:
        return f"n = {self.n:,}, p = {self.p:,}"


@dataclass(frozen=True)
class Program:
    """A program that is measured in a process of its own."""

    title: str
    """Name in the table; `{version}` is replaced."""
    prepare: Callable[[Arrays], Call]
    """Import libraries and convert the data, which is not measured; return the part that is measured."""
    is_ours: bool = False
    """Whether it runs in the environment of this package."""


@dataclass(frozen=True)
class Problem:
    """A problem that several programs solve with the same data."""

    title: str
    """What is computed."""
    sizes: tuple[Size, ...]
    """The default sizes."""
    data: Callable[[Size], Arrays]
    """Generate the data, from a fixed seed."""
    score: Callable[[Arrays, Arrays], Mapping[str, float]]
    """Compute measures of quality from the data and an answer; the same for all programs."""
    programs: tuple[Program, ...]
    """The programs; the first one is ours, and the times of the others are divided by its time."""


@dataclass(frozen=True)
class Peer:
    """A peer with the problems on which it is compared."""

    name: str
    """Name in the table."""
    package: str
    """Distribution whose version the table shows."""
    requirements: tuple[str, ...]
    """Arguments of `pip install` in its environment."""
    problems: tuple[Problem, ...]


def load_peer(name: str) -> Peer:
    """Return the peer of a module; peer libraries are imported only when a program is prepared."""
    found: Peer = import_module(f"tests.benchmarks.peers.{name}").PEER
    return found
