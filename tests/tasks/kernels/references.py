"""Kernels of every family by their definitions, in extended precision and by scikit-learn, and from blocks."""

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
from scipy.special import gammainc
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic
from sklearn.metrics import pairwise as sklearn_kernels

from kernel_pipeline.tasks.kernels.chi_squared import ChiSquaredFamily
from kernel_pipeline.tasks.kernels.cosine import CosineFamily
from kernel_pipeline.tasks.kernels.family import GramFamily, Samples, kernel_names, kernel_shifts, prepare_families
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.kernels.laplacian import LaplacianFamily
from kernel_pipeline.tasks.kernels.linear import LinearFamily
from kernel_pipeline.tasks.kernels.matern import MaternFamily
from kernel_pipeline.tasks.kernels.polynomial import PolynomialFamily
from kernel_pipeline.tasks.kernels.rational_quadratic import RationalQuadraticFamily
from kernel_pipeline.tasks.kernels.view import View
from tests.tasks.dense import Extended, Floats, squared_distances


def assembled(families: Sequence[GramFamily], features: Floats, cuts: Sequence[int] = ()) -> Floats:
    """Compute `E = K - shift`, (p, m, m), from blocks between the cuts on and above the diagonal, and mirror them."""
    m = len(features)
    fill = prepare_families(families, Samples(features))
    out = np.full((len(kernel_names(families)), m, m), np.nan)
    spans = [slice(*ends) for ends in pairwise([0, *cuts, m])]
    for number, rows in enumerate(spans):
        for columns in spans[number:]:
            block = np.full((len(out), rows.stop - rows.start, columns.stop - columns.start), np.nan)
            fill(rows, columns, block)
            out[:, rows, columns] = block
            if rows != columns:
                out[:, columns, rows] = block.transpose(0, 2, 1)
    return out


def gram(families: Sequence[GramFamily], features: Floats, cuts: Sequence[int] = ()) -> Floats:
    """Compute K, (p, m, m)."""
    return np.asarray(assembled(families, features, cuts) + np.array(kernel_shifts(families))[:, None, None])


def by_scikit_learn(family: GramFamily, features: Floats) -> list[Floats]:
    """Compute all kernels of a family; only scikit-learn's own defaults may depend on the data."""
    match family:
        case View(inner, columns):
            return by_scikit_learn(inner, features if columns is None else features[:, columns])
        case GaussianFamily():
            return [sklearn_kernels.rbf_kernel(features, gamma=gamma) for gamma in family.gammas()]
        case LaplacianFamily(gammas):
            return [sklearn_kernels.laplacian_kernel(features, gamma=gamma) for gamma in gammas or (None,)]
        case MaternFamily(nus, lengths):
            return [Matern(length, nu=nu)(features) for nu, length in product(nus, lengths)]
        case RationalQuadraticFamily(lengths, alphas):
            return [RationalQuadratic(length, alpha)(features) for length, alpha in product(lengths, alphas)]
        case LinearFamily():
            return [sklearn_kernels.linear_kernel(features)]
        case PolynomialFamily(degrees, gammas, coefs):
            return [
                sklearn_kernels.polynomial_kernel(features, degree=degree, gamma=gamma, coef0=coef0)
                for degree, gamma, coef0 in product(degrees, gammas or (None,), coefs)
            ]
        case CosineFamily():
            return [sklearn_kernels.cosine_similarity(features)]
        case ChiSquaredFamily(gammas):
            return [sklearn_kernels.chi2_kernel(features, gamma=gamma) for gamma in gammas]
    raise TypeError(family)


def extended(family: GramFamily, features: Floats) -> list[Extended]:
    """Compute `E = K - shift` of all kernels of a family, in extended precision and without cancellation."""
    x = features.astype(np.longdouble)
    default = (1.0 / x.shape[1],)
    match family:
        case View(inner, columns):
            return extended(inner, features if columns is None else features[:, columns])
        case GaussianFamily():
            return [np.expm1(-gamma * squared_distances(features, features)) for gamma in family.gammas()]
        case LaplacianFamily(gammas):
            distances = np.abs(x[:, None] - x).sum(axis=2)
            return [np.expm1(-gamma * distances) for gamma in gammas or default]
        case MaternFamily(nus, lengths):
            distances = np.sqrt(squared_distances(features, features))
            return [_matern(nu, distances / np.longdouble(length)) for nu, length in product(nus, lengths)]
        case RationalQuadraticFamily(lengths, alphas):
            squares = squared_distances(features, features)
            return [
                np.expm1(-alpha * np.log1p(squares / (2 * np.longdouble(alpha) * np.longdouble(length) ** 2)))
                for length, alpha in product(lengths, alphas)
            ]
        case LinearFamily():
            return [x @ x.T]
        case PolynomialFamily(degrees, gammas, coefs):
            return [
                (np.longdouble(gamma) * (x @ x.T) + coef0) ** degree - np.longdouble(coef0) ** degree
                for degree, gamma, coef0 in product(degrees, gammas or default, coefs)
            ]
        case CosineFamily():
            norms = np.sqrt((x**2).sum(axis=1))
            units = x / np.where(norms == 0, 1, norms)[:, None]
            zero = (norms == 0)[:, None] | (norms == 0)
            return [np.where(zero, -1, -((units[:, None] - units) ** 2).sum(axis=2) / 2)]
        case ChiSquaredFamily(gammas):
            sums = x[:, None] + x
            terms = (x[:, None] - x) ** 2 / np.where(sums == 0, 1, sums)
            return [np.expm1(-gamma * terms.sum(axis=2)) for gamma in gammas]
    raise TypeError(family)


def _matern(nu: float, ratio: Extended) -> Extended:
    """Compute E as a sum of terms of equal sign, with the incomplete gamma function."""
    a = np.sqrt(np.longdouble(2 * nu)) * ratio
    if nu == 0.5:
        return np.asarray(np.expm1(-a))
    rest = gammainc(3, a.astype(np.float64)).astype(np.longdouble)
    return np.asarray(-(rest + a**2 * np.exp(-a) / {1.5: 2, 2.5: 6}[nu]))
