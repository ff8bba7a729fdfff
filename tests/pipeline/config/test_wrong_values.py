"""Messages about wrong values name the field, the allowed values and the given value."""

import copy
from typing import Any

import pytest

from kernel_pipeline.data.formats.format import FORMATS
from kernel_pipeline.tasks.kernels.family import FAMILIES
from kernel_pipeline.tasks.weights.method import METHODS
from tests.helpers.build import GAUSSIAN, changed, either
from tests.pipeline.config.full_config import FULL, message

NAMES = ", ".join(map(repr, METHODS))


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (("seed",), "0", "seed: must be a valid integer; got '0'"),
        (("seed",), True, "seed: must be a valid integer; got True"),
        (("seed",), 1.5, "seed: must be a valid integer; got 1.5"),
        (("seed",), -1, "seed: must be greater than or equal to 0; got -1"),
        (("methods",), "unif", "methods: must be a list in brackets; write methods = ['unif']; got 'unif'"),
        (
            ("dataset", 0, "drop"),
            "day",
            "dataset[0] (file).drop: must be a list in brackets; write drop = ['day']; got",
        ),
        (
            ("dataset", 3, "kernels"),
            "gaussian",
            'must be a list in brackets; write kernels = [{ family = "gaussian", gamma = "median" }]; got \'gaussian\'',
        ),
        (("dataset", 3, "kernels"), "Gausian", '; write kernels = [{ family = "gaussian", gamma = "median" }]; got'),
        (("dataset", 3, "kernels"), "linear", '; write kernels = [{ family = "linear" }]; got'),
        (("dataset", 3, "kernels"), "xyz", '; write kernels = [{ family = "..." }]; got'),
        (("dataset", 3, "kernels"), 3, '; write kernels = [{ family = "..." }]; got 3'),
        (
            ("dataset", 3, "kernels"),
            {"family": "gaussian"},
            'write kernels = [{ family = "gaussian", gamma = "median" }]',
        ),
        (
            ("dataset", 3, "kernels"),
            ["gaussian", "precomputed"],
            'kernels[0]: must be a table; write { family = "gaussian", gamma = "median" }; got \'gaussian\'\n'
            '  dataset[3] (made).kernels[1]: must be a table; write { family = "precomputed", path = "kernel.npy" };',
        ),
        (("dataset", 0, "separator"), "\\t", "(file).separator: '\\t' is not a single character; a tab is written in"),
        (("dataset", 0, "separator"), "TAB", "'TAB' is not a single character; a tab is written in double quotes"),
        (("dataset", 0, "separator"), "::", "separator: must have at most 1 character(s); got '::'"),
        (("methods", 0), "unfi", f"methods[0]: must be {either(METHODS)}, or a table; got 'unfi'"),
        (("methods", 1), 3, f"methods[1]: must be {either(METHODS)}, or a table; got 3"),
        (("methods", 0, "q"), 0.5, "methods[0].q: must be greater than or equal to 1; got 0.5"),
        (("methods", 0, "q"), float("inf"), "methods[0].q: must be a finite number; got inf"),
        (("methods", 0, "q"), "2", "methods[0].q: must be a valid number; got '2'"),
        (("methods", 0, "method"), "alignf", "methods[0]: unknown key 'q'. Allowed: method"),
        (("methods", 0, "method"), "alignq", f"methods[0].method: must be one of {NAMES}; got 'alignq'"),
        (("methods", 0, "method"), ["align"], f"methods[0].method: must be one of {NAMES}; got "),
        (("methods", 1), {"q": 2}, "methods[1]: requires the key 'method'"),
        (("name",), 5, "name: must be a valid string; got 5"),
        (("protocol",), 3, "protocol: must be a table; got 3"),
        (("protocol", "folds"), 2, "protocol.folds: must be greater than or equal to 3; got 2"),
        (("protocol", "repeats"), 0, "protocol.repeats: must be greater than or equal to 1; got 0"),
        (("protocol", "repeats"), 3, "protocol.repeats = 3: the folds of dataset "),
        (("protocol", "permutations"), 18, "protocol.permutations: must be 0, or at least 19 for a 95 % quantile"),
        (("storage", "tile"), 0, "storage.tile: must be greater than or equal to 1; got 0"),
        (("fit", "krr", "step"), 0, "fit.krr.step: must be greater than or equal to 1; got 0"),
        (("fit", "svm"), {"from": 3, "to": 1}, "fit.svm: goes from 3 to 1; 'from' must not be above 'to'"),
        (("fit", "l1-svm"), {"from": 3, "to": 1}, "fit.l1-svm: goes from 3 to 1"),
        (("fit", "l2-krr", "step"), 0, "fit.l2-krr.step: must be greater than or equal to 1; got 0"),
        (("fit", "align-krr"), 3, "fit.align-krr: must be a table; got 3"),
        (("fit", "align-krr", "gamma1"), {"from": 3, "to": 1}, "fit.align-krr.gamma1: goes from 3 to 1"),
        (("fit", "krr", "to"), 2000, "fit.krr.to: must be less than or equal to 100; got 2000"),
        (
            ("dataset", 0, "source"),
            "fil",
            "dataset[0] (file).source: must be one of 'file', 'openml', 'sklearn', 'synthetic', 'text', 'sentiment'",
        ),
        (("dataset", 0, "format"), "cvs", f"must be {either(FORMATS)}; got 'cvs'"),
        (("dataset", 0, "task"), "clustering", "must be 'regression' or 'classification'; got 'clustering'"),
        (
            ("dataset", 0, "missing"),
            "dorp",
            "dataset[0] (file).missing: must be 'error', 'drop', 'mean', 'median' or 'most-frequent'; got 'dorp'",
        ),
        (("dataset", 0, "scale"), "max", "must be 'none', 'standard' or 'minmax'; got 'max'"),
        (("dataset", 0, "header"), "yes", "dataset[0] (file).header: must be a valid boolean; got 'yes'"),
        (("dataset", 0, "rows"), 0, "dataset[0] (file).rows: must be greater than or equal to 1; got 0"),
        (("dataset", 0, "rows"), "5", "dataset[0] (file).rows: must be a valid integer; got '5'"),
        (
            ("dataset", 0, "positive"),
            "a",
            "(file).positive: must be a list in brackets; write positive = ['a']; got 'a'",
        ),
        (("dataset", 0, "positive"), [1], "dataset[0] (file).positive[0]: must be a valid string; got 1"),
        (("dataset", 2, "id"), "irs", "'breast_cancer', 'diabetes', 'digits', 'iris', 'linnerud' or 'wine'; got 'irs'"),
        (("dataset", 3, "noise"), -1, "dataset[3] (made).noise: must be greater than or equal to 0; got -1"),
        (("dataset", 3, "features"), 4, "dataset[3] (made).features: must be greater than or equal to 5; got 4"),
        (
            ("dataset", 3, "kernels", 0, "family"),
            "gausian",
            f"dataset[3] (made).kernels[0].family: must be one of {', '.join(map(repr, FAMILIES))}; got 'gausian'. "
            "Did you mean 'gaussian'? A family",
        ),
        (
            ("dataset", 4, "kernels", 0, "features"),
            "words",
            "(words).kernels[0].features: must be 'columns', 'unigrams' or 'bigrams', or a list; got 'words'",
        ),
        (
            ("dataset", 4, "kernels", 0, "features"),
            ["unigrams", "words"],
            "(words).kernels[0].features[1]: must be 'unigrams' or 'bigrams'; got 'words'",
        ),
        (("dataset", 4, "kernels", 0, "features"), [], "(words).kernels[0].features: is an empty list"),
        (
            ("dataset", 4, "kernels", 0, "features"),
            ["bigrams", "unigrams", "bigrams"],
            "(words).kernels[0].features: 'bigrams' is listed more than once",
        ),
        (("dataset", 4, "stop_words"), [], "dataset[4] (words).stop_words: must have at least 1 item(s); got []"),
        (("dataset", 4, "stop_words"), ["a", 3], "dataset[4] (words).stop_words[1]: must be a valid string; got 3"),
        (("dataset", 4, "lowercase"), "no", "dataset[4] (words).lowercase: must be a valid boolean; got 'no'"),
        (("dataset", 4, "kernels", 0, "top"), 0, "kernels[0].top: must be greater than or equal to 1; got 0"),
        (("dataset", 4, "path"), "", "dataset[4] (words).path: must not be empty; got ''"),
        (
            ("dataset", 4, "missing"),
            "dorp",
            "dataset[4] (words).missing: must be 'error' or 'drop'; got 'dorp'",
        ),
        (("dataset", 4, "positive"), [], "dataset[4] (words).positive: must have at least 1 item(s); got []"),
        (("dataset", 5, "domain"), "", "dataset[5] (reviews).domain: must not be empty; got ''"),
        (("dataset", 5, "domain"), 3, "dataset[5] (reviews).domain: must be a valid string; got 3"),
        (
            ("dataset", 3, "kernels", 0, "log2_gamma"),
            [3, -3],
            "dataset[3] (made).kernels[0].log2_gamma: [3, -3] is backwards; write [-3, 3]",
        ),
        (("dataset", 3, "kernels", 0, "log2_gamma"), [0.5, 1], "log2_gamma[0]: must be a valid integer; got 0.5"),
        (("dataset", 3, "kernels", 0, "log2_gamma"), [1, 2, 3], "log2_gamma:"),
        (("dataset", 3, "kernels", 0, "log2_gamma"), 3, "log2_gamma:"),
        (("dataset", 3, "kernels", 0, "log2_gamma"), ["0", "1"], "log2_gamma[0]: must be a valid integer; got '0'"),
        (("dataset", 3, "kernels"), copy.deepcopy(GAUSSIAN), "dataset[3] (made).kernels: must be a list in brackets"),
        (("dataset", 0, "name"), "zarr.json", "name: 'zarr.json' is reserved by zarr"),
        (("dataset", 0, "format"), "npz", "target = 'label': format 'npz' defines the target"),
        (("dataset", 0, "name"), "../up", "dataset[0] (../up).name:"),
        (("name",), "a/b", "name:"),
        (
            ("dataset",),
            3,
            "dataset: must be a list of tables; write [[dataset]] above the keys of each dataset; got 3",
        ),
        (("dataset", 0), 3, "dataset[0]: must be a table; got 3"),
        (("dataset",), [], "dataset: must have at least 1 item(s); got []"),
        (("dataset", 0, "kernels"), [], "dataset[0] (file).kernels: must have at least 1 item(s); got []"),
        (("dataset", 0, "target"), [], "dataset[0] (file).target"),
        (("fit", "class_weight"), "even", "fit.class_weight: must be 'balanced'; got 'even'"),
        (("dataset", 0, "task"), [], "dataset[0] (file).task: must have at least 1 item(s); got []"),
        (("dataset", 0, "format"), 3, f"must be {either(FORMATS)}; got 3"),
        (("dataset", 0, "source"), 3, "dataset[0] (file).source: must be one of 'file', 'openml'"),
        (("methods",), [], "methods: must have at least 1 item(s); got []"),
    ],
)
def test_messages_name_the_field_the_allowed_values_and_the_given_value(
    place: tuple[str | int, ...], value: Any, expected: str
) -> None:
    text = message(changed(FULL, place, value))
    assert expected in text
    assert "pipeline config schema" in text
