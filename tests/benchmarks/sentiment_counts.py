"""Bigram counts and folds of one domain of the sentiment reviews, read without the code of the pipeline."""

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import stratified_folds

FOLDS = 5


def read_reviews(folder: Path, domain: str) -> tuple[list[Counter[str]], Floats]:
    """Return the bigrams of each review and its rating; the positive file comes first."""
    reviews, ratings = [], []
    for side in ("positive", "negative"):
        # Split at spaces only: latin-1 has other white space, which belongs to words here.
        with gzip.open(folder / f"sentiment/processed_acl/{domain}/{side}.review.gz", "rt", encoding="latin-1") as file:
            for line in file:
                words = (word.rpartition(":") for word in line.rstrip("\n").split(" "))
                reviews.append(Counter({word: int(count) for word, _, count in words if "_" in word}))
        ratings += (folder / f"sentiment/ratings/{domain}_{side}.txt").read_text().split()
    return reviews, np.array(ratings, dtype=np.float64)


def count_bigrams(folder: Path, domain: str, top: int | None = None) -> tuple[scipy.sparse.csr_array, Floats, Integers]:
    """Return counts, ratings and folds of the shuffled reviews.

    Parameters
    ----------
    top
        Number of the most frequent bigrams of the domain to use, with ties ordered by text; all if None.
    """
    reviews, ratings = read_reviews(folder, domain)
    total: Counter[str] = Counter()
    for review in reviews:
        total.update(review)
    column = {word: k for k, word in enumerate(sorted(total, key=lambda word: (-total[word], word))[:top])}
    entries = [(i, column[w], count) for i, review in enumerate(reviews) for w, count in review.items() if w in column]
    rows, columns, values = np.array(entries).T
    counts = scipy.sparse.csr_array((values.astype(np.float64), (rows, columns)), shape=(len(reviews), len(column)))
    shuffled = np.random.default_rng(0).permutation(len(reviews))
    place, fold = stratified_folds(np.where(ratings[shuffled] >= 4, 1.0, -1.0), FOLDS)
    return counts[shuffled[place]], ratings[shuffled[place]], fold
