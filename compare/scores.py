"""How a labelling agrees with the truth."""

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix


def scores(labels, truth):
    """The number of clusters, the share of rows that are in none (-1), and the agreement with the truth. Rows in none count as one cluster there."""
    found = {"k": len(np.unique(labels[labels >= 0])), "left_out": float(np.mean(labels < 0))}
    if truth is not None:
        found["nmi"] = float(normalized_mutual_info_score(truth, labels))
        found["ari"] = float(adjusted_rand_score(truth, labels))
        found["vi"] = variation_of_information(truth, labels)
    return found


def variation_of_information(truth, labels):
    """H(truth | labels) + H(labels | truth), in nats."""
    together = contingency_matrix(truth, labels, sparse=True).tocoo()
    shares = together.data / together.data.sum()
    rows = np.bincount(together.row, shares)[together.row]
    columns = np.bincount(together.col, shares)[together.col]
    return max(0.0, float(-np.sum(shares * (np.log(shares / rows) + np.log(shares / columns)))))
