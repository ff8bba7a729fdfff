"""The distance from the optimum that the interior-point method measures."""

import numpy as np

from kernel_pipeline.tasks.learners.interior_point import Point


def test_complementarity_is_the_mean_over_all_inequality_constraints() -> None:
    alpha = np.array([0.25, 0.5, 0.8])
    slack, mean = np.array([2.0, 5.0]), 0.125
    point = Point(alpha, 1.0, slack, mean / slack, mean / alpha, mean / (1.0 - alpha), 0.0)
    np.testing.assert_allclose(point.complementarity(), mean, rtol=1e-12)
