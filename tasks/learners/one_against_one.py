"""Separate several classes one against one, with the order of classes, ties and class weights of scikit-learn's SVC."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers


@dataclass(frozen=True)
class Pair:
    """Two classes that one support vector machine separates."""

    samples: Integers
    """Training samples of the two classes."""
    labels: Floats
    """Their labels: +1 for the class with positive decision values, -1 for the other one."""


def class_pairs(target: Floats) -> list[Pair]:
    """Return the pairs of classes, in the order of libsvm.

    Parameters
    ----------
    target
        Labels -1 and +1, (n, 1), or one column of zeros and ones per class, (n, classes).

    Raises
    ------
    ValueError
        If a class does not occur.
    """
    if target.shape[1] == 1:
        if not {-1.0, 1.0} <= set(target[:, 0].tolist()):
            raise ValueError("both classes must occur in the training set")
        return [Pair(np.arange(len(target)), target[:, 0])]
    if not target.any(axis=0).all():
        raise ValueError("every class must occur in the training set")
    pairs = []
    for first, second in combinations(range(target.shape[1]), 2):
        samples = np.flatnonzero(target[:, first] + target[:, second])
        pairs.append(Pair(samples, target[samples, first] - target[samples, second]))
    return pairs


def sample_weights(target: Floats, class_weight: str | None) -> Floats:
    """Return the factor of C of each sample; with "balanced", `n / (n_classes * n_samples_of_class)`.

    >>> sample_weights(np.array([[1.0], [1.0], [1.0], [-1.0]]), "balanced").round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    if class_weight is None:
        return np.ones(len(target))
    members = np.column_stack([target < 0.0, target > 0.0]) if target.shape[1] == 1 else target
    return np.asarray(members @ (len(target) / (members.shape[1] * members.sum(axis=0))))


def vote(decisions: Floats, classes: int) -> Floats:
    """Return 1 in the column of the class with the most votes and 0 elsewhere; ties go to the first class.

    Parameters
    ----------
    decisions
        Decision values of all pairs, (q, pairs, values).

    Returns
    -------
    (q, classes, values)
    """
    votes = count_votes(decisions, classes)
    return np.asarray(votes.argmax(axis=1)[:, None] == np.arange(classes)[:, None], dtype=np.float64)


def count_votes(decisions: Floats, classes: int) -> Floats:
    """Return the number of votes for each class, (q, classes, values), given the decision values of all pairs.

    >>> count_votes(np.array([[[1.0], [-2.0], [0.5]]]), 3)[0, :, 0].tolist()
    [1.0, 1.0, 1.0]
    """
    votes = np.zeros((len(decisions), classes, decisions.shape[2]))
    for number, (first, second) in enumerate(combinations(range(classes), 2)):
        wins = decisions[:, number] > 0.0
        votes[:, first] += wins
        votes[:, second] += ~wins
    return votes
