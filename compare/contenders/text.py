"""Word counts for methods that want measurements: tf-idf, and fifty dimensions of it, as tutorials do."""

import numpy as np

N_LATENT = 50


def tfidf(counts):
    """Sparse rows of length 1."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer().fit_transform(counts)


def dense(task):
    """Rows as they are; of counts, fifty latent dimensions, in rows of length 1."""
    if task.kind == "dense":
        return task.rows
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    return normalize(TruncatedSVD(N_LATENT, random_state=task.seed).fit_transform(tfidf(task.rows)).astype(np.float32))
