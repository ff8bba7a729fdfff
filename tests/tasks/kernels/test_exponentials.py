import numpy as np
import pytest

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.exponentials import doubling_chains, shifted_exponentials

EPS = float(np.finfo(np.float64).eps)


@pytest.mark.parametrize(
    ("rates", "chains"),
    [
        ([0.1], ((0,),)),
        ([0.01, 0.02, 0.04, 0.08], ((0, 1, 2, 3),)),
        ([0.4, 0.2, 0.1], ((2, 1, 0),)),
        ([1.0, 3.0, 2.0, 6.0, 5.0], ((0, 2), (1, 3), (4,))),
        ([0.1, 0.3], ((0,), (1,))),
    ],
)
def test_chains_of_rates_that_double(rates: list[float], chains: tuple[tuple[int, ...], ...]) -> None:
    assert doubling_chains(rates) == chains


def test_there_is_one_exponential_per_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, expm1 = [], np.expm1

    def counting(values: Floats, out: Floats) -> Floats:
        calls.append(values.shape)
        return np.asarray(expm1(values, out=out))

    gammas = [0.3, 0.1, 0.2, 0.4, 0.6, 0.5]
    distances = 10.0 ** np.random.default_rng(0).uniform(-6, 3, size=(20, 30))
    out = np.full((6, 20, 30), np.nan)
    evaluate = shifted_exponentials(gammas)
    monkeypatch.setattr(np, "expm1", counting)
    evaluate(distances, out)
    monkeypatch.undo()
    assert calls == [(20, 30)] * 3
    for gamma, kernel in zip(gammas, out, strict=True):
        expected = np.expm1(-np.longdouble(gamma) * distances.astype(np.longdouble))
        np.testing.assert_allclose(kernel, expected.astype(np.float64), rtol=16 * EPS)
