"""The estimators pass scikit-learn's own checks, none of which is expected to fail."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernel_pipeline as kp

# The paths are short, so that the checks take seconds.
ESTIMATORS = [
    kp.AlignedKernelRegressor(alpha=[1e-6, 1e-3], cv=2),
    kp.AlignedKernelClassifier(C=[1.0, 1000.0], cv=2),
    kp.KernelCombiner(),
]


@pytest.mark.filterwarnings("ignore:.*SCIPY_ARRAY_API")
@parametrize_with_checks(ESTIMATORS)  # type: ignore[untyped-decorator]
def test_the_checks_of_scikit_learn_pass(estimator: Any, check: Any) -> None:
    check(estimator)
