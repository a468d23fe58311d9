"""Draws the pictures of the guide, docs/images/guide/*.png, from fits with seed 0. Needs the Python package and matplotlib.

usage: draw_guide.py [NAME…]     only the pictures whose names are given, such as gibbs
"""

import sys
import warnings
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from dirigent import DirichletProcessMixture
from matplotlib.patches import Ellipse
from scipy.cluster.hierarchy import dendrogram
from scipy.sparse import csr_matrix
from scipy.special import digamma
from sklearn.metrics import adjusted_rand_score

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images" / "guide"
COLOURS = np.array(plt.get_cmap("tab20").colors)[[0, 2, 4, 6, 8, 10, 12, 16, 18, 1, 3, 5, 7, 9, 11, 13, 17, 19]]
# 90 % of a Gaussian in two columns
RADIUS = np.sqrt(-2 * np.log(0.1))


def panels(n, titles=(), width=2.6, height=2.5):
    figure, axes = plt.subplots(1, n, figsize=(width * n, height), squeeze=False)
    for ax, title in zip(axes[0], titles, strict=False):
        ax.set_title(title, fontsize=9)
    return figure, axes[0]


def scatter(ax, X, labels, size=4, limits=None):
    ax.scatter(X[:, 0], X[:, 1], s=size, c=COLOURS[np.asarray(labels) % len(COLOURS)], linewidths=0)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_aspect("equal", adjustable="datalim")


def ellipses(ax, model, colour="black", style="-"):
    covariances = model.covariances_
    for mean, covariance in zip(model.means_, covariances, strict=True):
        covariance = np.diag(covariance) if np.ndim(covariance) == 1 else covariance
        values, vectors = np.linalg.eigh(covariance)
        angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        width, height = 2 * RADIUS * np.sqrt(values[::-1])
        ax.add_patch(Ellipse(mean, width, height, angle=angle, fill=False, edgecolor=colour, linewidth=1.2, linestyle=style))


def fit(X, *args, **options):
    return DirichletProcessMixture(*args, random_state=0, **options).fit(X)


def blobs(seed=0, n=120, centres=((0, 0), (5, 0), (2.5, 4.5), (9, 4), (9, 0.5))):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(centre, 1.0, size=(n, 2)) for centre in centres])


def rings(seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, size=1000)
    radius = np.where(np.arange(1000) < 650, 4.5, 1.6) + rng.normal(0, 0.16, size=1000)
    ring = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    return np.concatenate([ring, rng.normal([8.5, 3.0], 0.7, size=(200, 2)), rng.normal([8.5, -3.0], 0.7, size=(200, 2))])


def draw_dirichlet_process():
    rng = np.random.default_rng(1)
    figure, axes = panels(4, ["α = 0.5", "α = 5", "α = 50", "expected number of components"], 2.3, 2.3)
    for ax, alpha in zip(axes, (0.5, 5, 50), strict=False):
        sizes = []
        for n in range(1000):
            chances = np.array([*sizes, alpha]) / (n + alpha)
            k = rng.choice(len(chances), p=chances)
            sizes = [*sizes, 1] if k == len(sizes) else [*sizes[:k], sizes[k] + 1, *sizes[k + 1 :]]
        sizes = sorted(sizes, reverse=True)
        ax.bar(range(len(sizes)), sizes, width=1.0 if len(sizes) > 40 else 0.8, color="tab:blue")
        ax.set_xlabel(f"{len(sizes)} components", fontsize=8)
        ax.tick_params(labelsize=7)
    n = np.logspace(0, 5, 60)
    for alpha in (0.5, 5, 50):
        axes[3].plot(n, alpha * (digamma(n + alpha) - digamma(alpha)), label=f"α = {alpha:g}")
    axes[3].set_xscale("log")
    axes[3].set_yscale("log")
    axes[3].set_xlabel("rows", fontsize=8)
    axes[3].tick_params(labelsize=7)
    axes[3].legend(fontsize=7)
    return figure


def draw_gibbs():
    X = blobs(n=80)
    # rows in random order: otherwise the first sweep meets one cluster after another
    X = X[np.random.default_rng(0).permutation(len(X))]
    figure, axes = panels(4)
    for ax, cycles in zip(axes, (1, 3, 10, 50), strict=True):
        model = fit(X, "components", method="cgs", method_options={"cycles": cycles, "point": "last"}, covariance_type="isotropic")
        scatter(ax, X, model.labels_, 6)
        ax.set_title(f"after {cycles} sweep{'s' * (cycles > 1)}: {len(np.unique(model.labels_))} components", fontsize=9)
    return figure


def draw_consolidation():
    X = blobs(n=150)
    half = np.random.default_rng(3).random(len(X)) < 0.5
    figure, axes = panels(3, ["worker 1", "worker 2", "one model"], 2.9, 2.6)
    for ax, rows, colour in [(axes[0], half, "tab:blue"), (axes[1], ~half, "tab:orange")]:
        model = fit(X[rows], "components")
        ax.scatter(*X[rows].T, s=4, color="0.75", linewidths=0)
        ellipses(ax, model, colour)
        ellipses(axes[2], model, colour, ":")
    axes[2].scatter(*X.T, s=4, color="0.75", linewidths=0)
    ellipses(axes[2], fit(X, "components", n_workers=2))
    for ax in axes:
        ax.set(xticks=[], yticks=[], xlim=(-4, 13), ylim=(-4, 8.5))
    return figure


def draw_splits():
    # the table of docs/dev/splits.md
    distance = [2.0, 2.5, 3.0, 3.5]
    log_rho, entropy = np.array([7062, 4373, 2041, -148]), np.array([-7238, -4941, -3264, -2098])
    figure, ax = plt.subplots(figsize=(5.2, 2.8))
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.plot(distance, log_rho, "o-", label="log ρ")
    ax.plot(distance, entropy, "s-", label="label entropy L")
    ax.plot(distance, log_rho + entropy, "D-", label="log ρ + L", linewidth=2)
    ax.set_xlabel("distance of the means in standard deviations", fontsize=8)
    ax.set_ylabel("nats", fontsize=8)
    ax.text(3.5, 300, "above 0: merge", fontsize=8, ha="right")
    ax.tick_params(labelsize=8)
    ax.legend(fontsize=8)
    return figure


def draw_tree():
    X = rings()
    model = fit(X)
    figure, axes = panels(4, ["", "tree", "", ""], 2.7, 2.6)
    scatter(axes[0], X, model.component_labels_)
    ellipses(axes[0], model)
    axes[0].set_title(f"{model.n_components_} components", fontsize=9)
    dendrogram(model.tree_, ax=axes[1], no_labels=True, color_threshold=0, above_threshold_color="0.3")
    axes[1].tick_params(labelsize=7)
    scatter(axes[2], X, model.labels_)
    axes[2].set_title(f"automatic cut: {model.n_clusters_} clusters", fontsize=9)
    scatter(axes[3], X, model.cut(5))
    axes[3].set_title("cut at 5", fontsize=9)
    return figure


def draw_parameter_cut():
    X = rings()
    model = fit(X)
    figure, axes = panels(4)
    for ax, n in zip(axes, (2, 4, "auto", "components"), strict=True):
        labels = model.cut(n)
        scatter(ax, X, labels)
        ax.set_title(f"{n!r}".replace("'", '"') + f": {len(np.unique(labels))} clusters", fontsize=9)
    return figure


def draw_parameter_covariance():
    rng = np.random.default_rng(0)
    stretch = np.array([[3.0, 0.0], [0.0, 0.5]])
    turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    X = np.concatenate([rng.normal(size=(250, 2)) @ stretch @ turn + centre for centre in ([0, 0], [0, 5], [7, 1])])
    figure, axes = panels(3, width=3.0)
    for ax, covariance in zip(axes, ("isotropic", "diag", "full"), strict=True):
        model = fit(X, "components", covariance_type=covariance)
        scatter(ax, X, model.labels_)
        ellipses(ax, model)
        ax.set_title(f'"{covariance}": {model.n_components_} components', fontsize=9)
    return figure


def draw_parameter_width():
    X = blobs(n=150)
    figure, axes = panels(4)
    for ax, sigma in zip(axes, (0.5, 1, 2, 4), strict=True):
        model = fit(X, "components", covariance_type="isotropic", prior={"sigma": sigma, "sigma0": 5.0})
        scatter(ax, X, model.labels_)
        ax.set_title(f"sigma {sigma}: {model.n_components_} components", fontsize=9)
    return figure


def documents(n=1200, topics=12, words=300, length=40):
    """Word counts in which words repeat within documents, as in real texts."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(words, 0.25), size=topics)
    topic = rng.integers(topics, size=n)
    rows = [rng.multinomial(length, rng.dirichlet(25 * shares[k] + 1e-3)) for k in topic]
    return csr_matrix(rows), topic


def draw_parameter_gamma():
    X, topic = documents()
    gammas = [0.003, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
    models = [fit(X, "components", prior={"gamma": gamma}) for gamma in gammas]
    default = fit(X, "components")
    figure, axes = panels(2, ["topics found (12 are true)", "ARI with the true topics"], 3.6, 2.5)
    for ax, values in [
        (axes[0], [model.n_components_ for model in models]),
        (axes[1], [adjusted_rand_score(topic, model.labels_) for model in models]),
    ]:
        ax.plot(gammas, values, "o-")
        ax.axvline(default.prior_["gamma"], color="0.5", linestyle=":", label="default")
        ax.set_xscale("log")
        ax.set_xlabel("gamma", fontsize=8)
        ax.tick_params(labelsize=8)
        ax.legend(fontsize=8)
    axes[0].set_yscale("log")
    axes[0].axhline(12, color="0.8", linewidth=0.8)
    return figure


def draw_parameter_alpha():
    X = np.concatenate([blobs(n=100), np.random.default_rng(5).normal([-4, 6], 0.4, size=(4, 2))])
    figure, axes = panels(4)
    for ax, alpha in zip(axes, (0.01, 1, 100, "auto"), strict=True):
        model = fit(X, "components", alpha=alpha)
        scatter(ax, X, model.labels_, 6)
        name = f"{alpha:g}" if alpha != "auto" else f'"auto" ({model.alpha_:.1f})'
        ax.set_title(f"alpha {name}: {model.n_components_} components", fontsize=9)
    return figure


def draw_certainty():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(centre, 1.2, size=(200, 2)) for centre in ([0, 0], [4, 0], [0, 9])])
    model = fit(X, draws=400, method_options={"thin": 5})
    figure, axes = panels(3, ["labels", "certainty", "posterior of K"], 3.0, 2.6)
    scatter(axes[0], X, model.labels_)
    shown = axes[1].scatter(*X.T, s=5, c=model.certainty_, cmap="viridis_r", vmin=0.5, vmax=1, linewidths=0)
    axes[1].set(xticks=[], yticks=[])
    axes[1].set_aspect("equal", adjustable="datalim")
    figure.colorbar(shown, ax=axes[1], shrink=0.8).ax.tick_params(labelsize=7)
    shares = model.n_components_posterior_
    axes[2].bar(list(shares), list(shares.values()))
    axes[2].set_xlabel("components", fontsize=8)
    axes[2].tick_params(labelsize=8)
    return figure


def draw_calibration():
    centres, sizes = np.array([[0, 0], [3.2, 0], [0, 7], [9, 5]]), [150, 150, 100, 60]
    truth = np.repeat(range(4), sizes)
    stated, right = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = np.concatenate([rng.normal(centre, 1.0, size=(n, 2)) for centre, n in zip(centres, sizes, strict=True)])
        model = fit(X, "components", covariance_type="full")
        if model.n_clusters_ == 4:
            nearest = np.argmin(((model.means_[:, None] - centres) ** 2).sum(axis=2), axis=1)
            stated.append(model.predict_proba(X).max(axis=1))
            right.append(nearest[model.labels_] == truth)
    stated, right = np.concatenate(stated), np.concatenate(right)
    groups = np.digitize(stated, [0.6, 0.7, 0.8, 0.9, 0.99])
    figure, ax = plt.subplots(figsize=(3.6, 3.0))
    ax.plot([0.5, 1], [0.5, 1], color="0.7")
    ax.plot([stated[groups == k].mean() for k in range(6)], [right[groups == k].mean() for k in range(6)], "o-")
    ax.set_xlabel("stated certainty", fontsize=8)
    ax.set_ylabel("share of correct labels", fontsize=8)
    ax.tick_params(labelsize=8)
    return figure


PICTURES = {name.removeprefix("draw_").replace("_", "-"): draw for name, draw in list(globals().items()) if name.startswith("draw_")}


def main():
    warnings.simplefilter("ignore")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        figure = PICTURES[name]()
        figure.tight_layout()
        figure.savefig(FOLDER / f"{name}.png", dpi=110, metadata={"Software": None})
        plt.close(figure)
        print(f"docs/images/guide/{name}.png")


if __name__ == "__main__":
    main()
