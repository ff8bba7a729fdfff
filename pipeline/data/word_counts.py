"""Count the words of documents that are given as text."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from kernel_pipeline.config.text_datasets import RawTextDataset
from kernel_pipeline.data.document_rows import DocumentRows, WordCounting
from kernel_pipeline.data.documents import Documents, no_words_error


def count_words(
    texts: Sequence[str], target: pd.Series, dataset: RawTextDataset, path: Path, unit: str = "line"
) -> Documents:
    """Count the words of documents as `CountVectorizer` of scikit-learn does.

    Parameters
    ----------
    texts
        One text per document.
    target
        Labels of the documents; the index holds their numbers in the file.
    dataset
        The dataset, whose keys determine which words are counted.
    path, unit
        The file, and the unit of it that contains one document ("line" or "row"), for messages.

    Raises
    ------
    DataError
        If there is no word to count.
    """
    counting = WordCounting.of(dataset)
    vectorizer = counting.vectorizer()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            counts = scipy.sparse.csr_array(vectorizer.fit_transform(texts), dtype=np.float64)
        except ValueError:  # the vocabulary is empty
            hint = "" if dataset.stop_words is None else " besides stop_words, which may list too many"
            raise no_words_error(dataset, [path], hint) from None
    # For example, a warning about stop words that never match, since words are split and lowercased first.
    notes = tuple(f"stop_words: {warning.message}" for warning in caught if issubclass(warning.category, UserWarning))
    size = int(target.index.max()) + 1
    words = vectorizer.get_feature_names_out().tolist()
    encoder = DocumentRows(counting, tuple(words))
    return Documents(counts, words, target, [(path, size)], unit, notes, encoder)
