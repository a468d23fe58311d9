"""Code in the documentation: what docs/model-file.md computes from the files equals the estimator; the recipe of docs/clusters.md, as far as it can be tried
without Slurm. scripts/run_readme.py runs all other blocks."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dirigent import DirichletProcessMixture

DOCS = Path(__file__).parent.parent / "docs"


def only_block(page, kind):
    (block,) = re.findall(rf"^```{kind}\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return block


@pytest.mark.parametrize("transform", [{}, {"standardize": True}, {"pca": 1}, {"standardize": True, "pca": 2, "normalize": True}])
def test_the_model_file_is_read_as_its_page_says(transform, heaps, tmp_path):
    page = {}
    exec(compile(only_block("model-file.md", "python"), "model-file.md", "exec"), page)
    rows, _ = heaps
    prior = {"sigma": 0.5, "sigma0": 5.0}
    model = DirichletProcessMixture(
        "components", covariance_type="isotropic", prior=prior, random_state=0, max_iter=20, out=tmp_path / "run", **transform
    ).fit(rows)
    other = rows + np.linspace(-3.0, 3.0, len(rows))[:, None]
    probabilities, log_density = page["predict"](tmp_path / "run", other)
    np.testing.assert_allclose(log_density, model.score_samples(other), atol=1e-3)
    np.testing.assert_allclose(probabilities[:, -1], model.new_proba(other), atol=1e-4)
    np.testing.assert_array_equal(model.n_components_, probabilities.shape[1] - 1)
    assert (probabilities[:, :-1].argmax(axis=1) == model.predict(other)).all()


def test_the_recipe_for_slurm_is_sound_and_says_what_the_command_knows(command):
    recipe = only_block("clusters.md", "sh")
    assert subprocess.run(["sh", "-n"], input=recipe, text=True).returncode == 0
    fits = [line.partition("dirigent fit ")[2] for line in recipe.splitlines() if "dirigent fit " in line]
    said = {option for fit in fits for option in re.findall(r"--[\w-]+", fit)}
    assert len(fits) == 2 and said <= set(re.findall(r"--[\w-]+", command("fit", "--help").stdout))
