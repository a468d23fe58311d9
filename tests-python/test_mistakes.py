"""The user's mistakes are Python exceptions that say the same as the command."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

from dirigent import DirichletProcessMixture


def refusal(X, **parameters):
    with pytest.raises(ValueError) as caught:
        DirichletProcessMixture(**parameters).fit(X)
    return str(caught.value)


def test_rows_that_are_no_rows(heaps):
    X, _ = heaps
    assert "1D array" in refusal(X[:, 0])
    assert "0 sample(s)" in refusal(X[:0])
    assert "0 feature(s)" in refusal(X[:, :0])
    assert "Complex data not supported" in refusal(X + 1j)
    assert "could not convert" in refusal(np.array([["a", "b"], ["c", "d"]]))
    infinite = X.copy()
    infinite[3, 1] = np.inf
    assert "X, row 4, column 2: found inf, expected a finite number" in refusal(infinite)


def test_missing_cells_where_a_family_cannot_have_them(heaps):
    X = heaps[0].copy()
    X[5, 0] = np.nan
    assert "missing" in refusal(X, covariance_type="full")
    model = DirichletProcessMixture(random_state=0).fit(X)
    assert (model.family_, model.covariance_type_) == ("gaussian", "diag")
    whole = DirichletProcessMixture(covariance_type="full").fit(heaps[0])
    with pytest.raises(ValueError, match="row 6, column 1: the cell is missing"):
        whole.predict(X)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("k", "did you mean n_clusters?"),
        ("n_components", "did you mean n_clusters"),
        ("sigma", "it is a key of prior: prior={'sigma': ...}"),
        ("latency", "it is a key of engine_options"),
        ("covariance", "did you mean covariance_type?"),
        ("familly", "did you mean 'family'?"),
    ],
)
def test_a_parameter_that_does_not_exist(wrong, told):
    with pytest.raises(TypeError, match="has no parameter") as caught:
        DirichletProcessMixture(**{wrong: 1})
    assert told in str(caught.value)


def test_options_that_make_no_sense(heaps):
    X, _ = heaps
    assert refusal(X, alpha=-1).startswith("`alpha` must be a positive number, got -1")
    assert refusal(X, alpha="x") == "`alpha`: expected auto or a number"
    assert "`method` must be one of 'dirigent'" in refusal(X, method="nonsense")
    assert "`n_workers` requires another method: `method` cgs has one worker" in refusal(X, method="cgs", n_workers=2)
    assert "`point` vi requires `draws`" in refusal(X, method_options={"point": "vi"})
    assert "`latency` requires `engine` simulated, and the engine is threads" in refusal(X, engine_options={"latency": 0.1})
    assert "`n_workers` 1000 is more than there are rows" in refusal(X, n_workers=1000)
    assert "`random_state`: invalid value: integer `-3`" in refusal(X, random_state=-3)
    assert "`draws` must be a whole number of at least 0" in refusal(X, draws=-1)
    assert "`max_iter` must be a whole number of at least 1" in refusal(X, max_iter=0)
    assert "`covariance_type`" in refusal(X, covariance_type="round")
    assert "`n_clusters` must be 'auto', 'components' or a whole number" in refusal(X, n_clusters=0)
    assert "`n_clusters` requires `point` argmax" in refusal(X, n_clusters=2, method_options={"point": "last"})
    assert "`prior` has no key 'sigme'\nhint: did you mean 'sigma'?" in refusal(X, prior={"sigme": 1.0})
    assert "`engine_options` must be a dictionary" in refusal(X, engine_options="fast")
    with pytest.raises(ValueError, match="has 3 labels, but the data has 180 rows"):
        DirichletProcessMixture(random_state=0).fit(X, start=[0, 1, 2])


def test_files_that_are_not_there(tmp_path):
    assert "nowhere.npy" in refusal(str(tmp_path / "nowhere.npy"))
    assert "no file has such a name" in refusal(str(tmp_path / "*.npy"))


def test_a_folder_that_is_taken(tmp_path, heaps):
    (tmp_path / "mine.txt").write_text("mine")
    assert "the folder is not empty" in refusal(heaps[0], out=tmp_path)
    DirichletProcessMixture(out=tmp_path / "run").fit(heaps[0])
    assert (tmp_path / "run" / "model.json").is_file()
    assert "the folder is not empty" in refusal(heaps[0], out=tmp_path / "run")
    DirichletProcessMixture(out=tmp_path / "run", force=True).fit(heaps[0])


def test_a_model_that_is_not_fitted(heaps):
    model = DirichletProcessMixture(random_state=0)
    for method in ("predict", "predict_proba", "score_samples", "new_proba", "transform"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(heaps[0])
    with pytest.raises(NotFittedError):
        model.sample()
    for attribute in ("means_", "covariances_", "trace_", "draws_", "labels_"):
        assert not hasattr(model, attribute)


def test_columns_that_the_model_does_not_know(heaps, documents):
    X, _ = heaps
    model = DirichletProcessMixture(random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 1 features, but DirichletProcessMixture is expecting 2"):
        model.predict(X[:, :1])
    pandas = pytest.importorskip("pandas")
    named = DirichletProcessMixture(random_state=0).fit(pandas.DataFrame(X, columns=["a", "b"]))
    with pytest.raises(ValueError, match="feature names"):
        named.predict(pandas.DataFrame(X, columns=["b", "a"]))
    assert not hasattr(model, "draws_")
    words = DirichletProcessMixture(random_state=0).fit(scipy.sparse.csr_matrix(documents[0]))
    with pytest.raises(ValueError, match="found -1, expected a count"):
        words.predict(-np.ones((1, 12)))
    with pytest.raises(AttributeError, match="have no covariances"):
        _ = words.covariances_


def test_sparse_measurements_that_would_be_too_many_cells():
    matrix = scipy.sparse.csr_matrix(([0.5], ([0], [0])), shape=(100_000, 2_000))
    assert "TruncatedSVD" in refusal(matrix)
    with pytest.raises(ValueError, match="found 0.5, expected a count"):
        DirichletProcessMixture(family="multinomial").fit(matrix)


def test_text_that_cannot_be_levels():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"id": [f"row {ix}" for ix in range(50)], "x": np.arange(50.0)})
    with pytest.warns(UserWarning, match="1 column is left out: id .an identifier or free text: 50 different texts in 50 cells"):
        model = DirichletProcessMixture(random_state=0).fit(table)
    assert list(model.feature_names_in_) == ["x"]
    with pytest.warns(UserWarning, match="row"):
        DirichletProcessMixture(random_state=0).fit(table, columns=["id"])
    assert "complex numbers" in refusal(pandas.DataFrame({"z": [1j, 2j]}))
