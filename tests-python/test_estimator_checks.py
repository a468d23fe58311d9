"""scikit-learn's own checks of an estimator."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from dirigent import DirichletProcessMixture


TAKEN_FOR_A_CLASSIFIER = "the check takes whoever has predict_proba for a classifier of four classes and reads its classifier tags"
LEFT_OUT = {"check_estimator_sparse_array": TAKEN_FOR_A_CLASSIFIER, "check_estimator_sparse_matrix": TAKEN_FOR_A_CLASSIFIER}


@parametrize_with_checks(
    [DirichletProcessMixture(random_state=0), DirichletProcessMixture(method="cgs", method_options={"cycles": 20})], expected_failed_checks=lambda _: LEFT_OUT
)
@pytest.mark.filterwarnings("ignore::dirigent.FitWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::dirigent.FitWarning")
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("container", ["array", "matrix"])
def test_all_kinds_of_sparse_matrices_are_taken(kind, container):
    """What the two checks that are left out would have looked at."""
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(40, 3))
    X[X < 0.6] = 0
    sparse = getattr(scipy.sparse, f"{kind}_{container}")(X)
    model = DirichletProcessMixture(random_state=0).fit(sparse)
    np.testing.assert_array_equal(model.labels_, DirichletProcessMixture(random_state=0).fit(X).labels_)
    np.testing.assert_array_equal(model.predict_proba(sparse), model.predict_proba(X))
    assert model.predict_proba(sparse).shape == (40, model.n_clusters_)


def test_a_clone_is_not_fitted_and_has_the_same_parameters(heaps):
    model = DirichletProcessMixture(covariance_type="full", random_state=3).fit(heaps[0])
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(heaps[0])


def test_a_pickle_predicts_the_same_and_needs_no_file(heaps):
    X, _ = heaps
    model = DirichletProcessMixture(random_state=0).fit(X)
    data = pickle.dumps(model)
    expected, labels = model.predict_proba(X), model.labels_
    del model
    again = pickle.loads(data)
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert len(again.trace_["cycle"]) == again.n_iter_
    # a further batch needs no rows of before
    np.testing.assert_array_equal(again.partial_fit(X).labels_, labels)


def test_output_can_be_a_table(heaps):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(heaps[0], columns=["x", "y"])
    model = DirichletProcessMixture(random_state=0).set_output(transform="pandas")
    table = model.fit_transform(X)
    assert list(table.columns) == [f"dirichletprocessmixture{k}" for k in range(model.n_clusters_)]
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert list(model.feature_names_in_) == ["x", "y"]
