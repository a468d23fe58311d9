"""Dirigent, by its Python package: no options; and, of made data, told what the others are told of K."""

from task import Contender, Found


def load(**of_task):
    from dirigent import DirichletProcessMixture

    def fit(task):
        known = {"covariance_type": "isotropic", "prior": task.known} if of_task.get("is_told") else {}
        model = DirichletProcessMixture(n_jobs=task.threads, random_state=task.seed, **known).fit(task.rows)
        return Found(model.labels_, model.score_samples)

    return fit


CONTENDERS = [
    Contender("Dirigent", "nothing", ("dense", "counts"), load),
    Contender("Dirigent, σ known", "σ, σ₀", ("dense",), lambda: load(is_told=True), suits=lambda about: bool(about["known"])),
]
