"""scikit-learn: variational Dirichlet-process mixtures, and k-means told the true K."""

from task import Contender, Found, truncation

from .text import N_LATENT, dense, tfidf


def load_mixture(covariance_type):
    from sklearn.mixture import BayesianGaussianMixture

    def fit(task):
        model = BayesianGaussianMixture(n_components=truncation(task.n_clusters), covariance_type=covariance_type, random_state=task.seed)
        labels = model.fit_predict(dense(task))
        # of text it has a density of latent dimensions, which is another thing
        return Found(labels, model.score_samples if task.kind == "dense" else None)

    return fit


def load_k_means(kind):
    from sklearn import cluster

    def fit(task):
        rows = task.rows if task.kind == "dense" else tfidf(task.rows)
        return Found(getattr(cluster, kind)(n_clusters=task.n_clusters, random_state=task.seed).fit_predict(rows))

    return fit


def knows_k(about):
    return about["n_clusters"] is not None


def rows_in_memory(about):
    """The responsibilities, of which several copies are made, are given a GiB each."""
    return 2**27 / truncation(about["n_clusters"])


def is_feasible(about):
    """At most 2e11 multiplications an iteration, of which there are up to a hundred: hours otherwise."""
    n_columns = about["n_columns"] if about["kind"] == "dense" else N_LATENT
    return about["n_rows"] * truncation(about["n_clusters"]) * n_columns**2 <= 2e11


BOTH = ("dense", "counts")
BOUND = "at most max(30, 2 K)"
CONTENDERS = [
    Contender("KMeans", "K", BOTH, lambda: load_k_means("KMeans"), suits=knows_k),
    Contender("MiniBatchKMeans", "K", BOTH, lambda: load_k_means("MiniBatchKMeans"), suits=knows_k),
    Contender("BayesianGaussianMixture, spherical", BOUND, ("dense",), lambda: load_mixture("spherical"), most_rows=rows_in_memory),
    Contender("BayesianGaussianMixture, full", BOUND, BOTH, lambda: load_mixture("full"), suits=is_feasible, most_rows=rows_in_memory),
]
