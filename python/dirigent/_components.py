"""Means and covariances of the clusters, in the units of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ._run_folder import RunFolder


def means_of(run: RunFolder) -> NDArray[np.float64]:
    """The mean of each component, one a row."""
    record, arrays = run.json("model.json"), run.components()
    if record["model"]["family"] == "multinomial":
        smoothing = record["model"]["smoothing"]
        sums = scipy.sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=arrays["shape"])
        words = sums.toarray() + smoothing
        shares: NDArray[np.float64] = words / words.sum(axis=1, keepdims=True)
        return shares
    means: NDArray[np.float64] = arrays["means"] if "means" in arrays else arrays["directions"]
    transform = record.get("transform")
    if transform is None or transform["normalize"]:
        return means
    moved: NDArray[np.float64] = means @ _back(transform) + np.array(transform["offset"])
    return moved


def covariances_of(run: RunFolder) -> NDArray[np.float64]:
    """The covariance matrix of each component, or the variances of its columns."""
    record, arrays = run.json("model.json"), run.components()
    model, transform = record["model"], record.get("transform")
    if "covariances" in arrays:
        covariances: NDArray[np.float64] = arrays["covariances"]
    elif "variances" in arrays:
        covariances = arrays["variances"]
    elif model["family"] == "gaussian_fixed":
        covariances = np.full_like(arrays["means"], model["noise_sd"] ** 2)
    else:
        raise AttributeError(f"components of the family {model['family']} have no covariances")
    if transform is None or transform["normalize"]:
        return covariances
    if covariances.ndim == 2 and transform["rotation"] is None:
        scaled: NDArray[np.float64] = covariances * np.square(transform["scale"])
        return scaled
    if covariances.ndim == 2:
        covariances = np.stack([np.diag(variances) for variances in covariances])
    back = _back(transform)
    turned: NDArray[np.float64] = np.einsum("ai,kab,bj->kij", back, covariances, back)
    return turned


def _back(transform: dict[str, Any]) -> NDArray[np.float64]:
    """The matrix that leads from the columns of the model to those of the data, rows on the left."""
    scale = np.array(transform["scale"])
    rotation = np.eye(len(scale)) if transform["rotation"] is None else np.array(transform["rotation"])
    product: NDArray[np.float64] = rotation * scale
    return product
