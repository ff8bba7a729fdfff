"""Support vector machines along a path of `C`, by scikit-learn's SVC on a precomputed kernel."""

import warnings
from collections.abc import Sequence

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, require_finite
from kernel_pipeline.tasks.errors import NotConvergedError

# libsvm needs about ten iterations per sample; this stops only a fit that would never end.
MAX_ITERATIONS = 10_000_000
CACHE_MEGABYTES = 200


def svm_path(kernel: Floats, target: Floats, held_out: Floats, values: Sequence[float]) -> Floats:
    """Return the decision values of held-out samples for every `C`.

    Parameters
    ----------
    kernel, held_out
        (n, n) and (q, n).
    target
        (n,): -1 or +1, both present.

    Returns
    -------
    (q, number of values)
    """
    # Importing scikit-learn takes two seconds, which a regression need not spend.
    import sklearn
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    require_finite("the kernel", kernel, held_out)
    decisions = np.empty((len(held_out), len(values)))
    # scikit-learn would check the same kernel again for every value, which takes as long as a fit.
    with (
        sklearn.config_context(assume_finite=True, skip_parameter_validation=True),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)  # `fit_status_` is checked below
        for column, value in enumerate(values):
            machine = SVC(C=value, kernel="precomputed", cache_size=CACHE_MEGABYTES, max_iter=MAX_ITERATIONS)
            machine.fit(kernel, target)
            if machine.fit_status_ != 0:
                raise NotConvergedError(f"the SVM with C = {value:g} did not converge in {MAX_ITERATIONS:,} iterations")
            decisions[:, column] = machine.decision_function(held_out)
    return decisions
