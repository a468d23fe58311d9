"""What the estimator does beyond scikit-learn's conventions."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics import adjusted_rand_score

from dirigent import DirichletProcessMixture


def test_heaps_are_found_and_described(heaps):
    X, truth = heaps
    model = DirichletProcessMixture(random_state=0).fit(X)
    assert model.n_components_ == 3
    assert adjusted_rand_score(truth, model.labels_) > 0.98
    assert model.labels_.dtype == np.int32
    np.testing.assert_allclose(model.weights_, 1 / 3, atol=0.02)
    np.testing.assert_allclose(model.weights_.sum(), 1.0)
    for k in range(3):
        np.testing.assert_allclose(model.means_[k], X[model.labels_ == k].mean(axis=0), atol=0.5)
    # which covariance is chosen depends on held-out rows: a matrix or a variance per column
    assert model.covariances_.shape in {(3, 2, 2), (3, 2)}
    assert model.converged_ and model.alpha_ > 0
    assert model.trace_["k"].iloc[-1] == 3
    assert "3 clusters (3 components) of 180 rows" in model._repr_html_()
    assert "text/html" in model._repr_mimebundle_()
    assert "DirichletProcessMixture" in DirichletProcessMixture(random_state=0)._repr_html_()


def test_predictions_go_together(heaps):
    X, _ = heaps
    model = DirichletProcessMixture(random_state=0).fit(X)
    probabilities = model.predict_proba(X)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), model.labels_)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())
    far = np.array([[1e6, 1e6]])
    assert model.new_proba(far) > 0.5 and model.new_proba(X[:1]) < 0.1
    np.testing.assert_allclose(model.predict_proba(far).sum(), 1.0)
    # a density: its integral over a grid that holds nearly all of it is 1
    side = np.linspace(-15, 35, 201)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    assert np.exp(model.score_samples(grid)).sum() * 0.25**2 == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("parameters", [{}, {"covariance_type": "diag"}, {"covariance_type": "isotropic", "prior": {"sigma": 1.0}}, {"standardize": True}, {"pca": 2}])
def test_means_covariances_and_samples_are_in_units_of_the_data(heaps, parameters):
    X = heaps[0] * [1.0, 10.0] + [0.0, 500.0]
    if "prior" in parameters:
        X = heaps[0]
    model = DirichletProcessMixture(**{"random_state": 0} | parameters).fit(X)
    assert model.n_components_ == 3
    sampled, labels = model.sample(3000)
    assert sampled.shape == (3000, 2)
    # means of about 1000 rows: beyond 6 standard errors with a chance below 1e-7
    for k in range(3):
        rows = sampled[labels == k]
        spread = X[model.labels_ == k].std(axis=0)
        assert np.all(np.abs(rows.mean(axis=0) - model.means_[k]) < 6 * spread / np.sqrt(len(rows)) + 0.2 * spread)
        covariance = model.covariances_[k]
        variances = np.diag(covariance) if covariance.ndim == 2 else covariance
        np.testing.assert_allclose(variances, spread**2, rtol=0.5)
    np.testing.assert_array_equal(model.sample(10)[0], model.sample(10)[0])
    assert np.any(model.set_params(random_state=1).sample(10)[0] != sampled[:10])


def test_documents_are_sampled_sparse_and_as_long_as_their_topic(documents):
    counts, truth = documents
    model = DirichletProcessMixture(random_state=0).fit(scipy.sparse.csr_matrix(counts))
    assert adjusted_rand_score(truth, model.labels_) > 0.9
    sampled, labels = model.sample(20)
    assert scipy.sparse.issparse(sampled) and sampled.shape == (20, 12)
    np.testing.assert_array_equal(sampled.sum(axis=1), 40)
    np.testing.assert_allclose(model.means_.sum(axis=1), 1.0)
    assert np.mean(model.predict(sampled) == labels) > 0.8


def test_other_kinds_of_arrays_are_converted(heaps):
    X, _ = heaps
    labels = DirichletProcessMixture(random_state=0).fit(X).labels_
    np.testing.assert_array_equal(DirichletProcessMixture(random_state=0).fit(np.asfortranarray(X)).labels_, labels)
    np.testing.assert_array_equal(DirichletProcessMixture(random_state=0).fit(X.tolist()).labels_, labels)
    np.testing.assert_array_equal(DirichletProcessMixture(random_state=0).fit(X[::-1][::-1]).labels_, labels)
    half = X.astype(np.float16)
    expected = DirichletProcessMixture(random_state=0).fit(half.astype(np.float64)).labels_
    np.testing.assert_array_equal(DirichletProcessMixture(random_state=0).fit(half).labels_, expected)
    whole = X.round().astype(np.int32)
    expected = DirichletProcessMixture(random_state=0, family="gaussian").fit(whole.astype(np.float64)).labels_
    np.testing.assert_array_equal(DirichletProcessMixture(random_state=0, family="gaussian").fit(whole).labels_, expected)
    read_only = X.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(DirichletProcessMixture(random_state=0).fit(read_only).labels_, labels)


def test_batches_are_taken_in_one_after_another(heaps):
    X, truth = heaps
    mixed = np.random.default_rng(0).permutation(len(X))
    X, truth = X[mixed], truth[mixed]
    model = DirichletProcessMixture(random_state=0)
    for part in np.array_split(np.arange(len(X)), 4):
        model.partial_fit(X[part])
        assert model.labels_.shape == part.shape
    assert adjusted_rand_score(truth, model.predict(X)) > 0.98
    known = set(model.cluster_ids_.tolist())
    # a heap that was not there before is a cluster with a number of its own
    model.partial_fit(np.random.default_rng(3).normal([60.0, 60.0], 1.0, size=(60, 2)))
    assert model.n_components_ == 4
    [new] = set(model.cluster_ids_.tolist()) - known
    assert set(model.labels_) == {new}
    last = model.events_[-1]
    assert (last["kind"], last["cluster"], last["batch"], last["n_rows"]) == ("born", new, 4, 60)


def test_batches_are_forgotten(heaps):
    X, truth = heaps
    model = DirichletProcessMixture(random_state=0).fit(X)
    two = X[truth < 2]
    for _ in range(2):
        model.partial_fit(two, forget={"batches": 2})
    assert model.n_components_ == 2 and [event["kind"] for event in model.events_][-1] == "gone"
    for wrong in [{"batches": 0}, {"batches": 1.5}, {"half_life": -1}, {"days": 3}, 3]:
        with pytest.raises(ValueError, match="forget"):
            model.partial_fit(two, forget=wrong)


def test_models_of_parts_are_merged(heaps):
    X, truth = heaps
    parts = [DirichletProcessMixture(covariance_type="full", random_state=0).fit(X[part::3]) for part in range(3)]
    merged = DirichletProcessMixture.merge(parts)
    assert merged.n_components_ == 3 and merged.labels_.shape == (0,)
    assert adjusted_rand_score(truth, merged.predict(X)) > 0.98
    with pytest.raises(ValueError, match="at least one"):
        DirichletProcessMixture.merge([])


def test_a_fit_can_begin_with_labels(heaps):
    X, truth = heaps
    model = DirichletProcessMixture(random_state=0, method_options={"cycles": 1}, method="prog").fit(X, start=truth)
    assert adjusted_rand_score(truth, model.labels_) > 0.98
    assert adjusted_rand_score(truth, DirichletProcessMixture(random_state=0, method_options={"cycles": 1}).fit(X, start=truth.astype(str)).labels_) > 0.98


def test_every_cycle_is_reported_and_an_error_in_the_callback_ends_the_fit(heaps):
    X, _ = heaps
    cycles = []
    model = DirichletProcessMixture(random_state=0, method_options={"cycles": 7}, callback=cycles.append).fit(X)
    # steps of the search for a start come before the first cycle
    starts, cycles = [step for step in cycles if "start" in step], [step for step in cycles if "start" not in step]
    assert starts and {step["cycle"] for step in starts} == {0}
    assert [cycle["cycle"] for cycle in cycles] == list(range(1, len(cycles) + 1))
    assert cycles[-1]["k"] == model.n_components_

    def broken(cycle):
        if cycle["cycle"] == 2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        model.set_params(callback=broken).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("method", ["dirigent", "cgs", "prog", "slicemr", "async"])
def test_a_callback_that_has_seen_enough_ends_the_fit_with_what_there_is(heaps, method):
    X, _ = heaps
    model = DirichletProcessMixture(random_state=0, method=method, method_options={"cycles": 500}, callback=lambda cycle: cycle["cycle"] == 4).fit(X)
    assert model.n_iter_ == 4 and not model.converged_
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.labels_.shape == (180,)
    model.partial_fit(X[:10])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("method", ["dirigent", "cgs"])
def test_ctrl_c_stops_a_fit_within_a_second_and_leaves_a_usable_model(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 16)) + 8 * rng.integers(0, 6, size=(40_000, 1))
    pressed = []

    def press(cycle):
        if cycle["cycle"] >= 2 and cycle["rows"] == len(X) and not pressed:
            # once the cycle after this one goes on
            threading.Timer(0.2, lambda: (pressed.append(time.monotonic()), os.kill(os.getpid(), signal.SIGINT))).start()
            pressed.append(0.0)

    model = DirichletProcessMixture(random_state=0, method=method, method_options={"cycles": 100_000}, covariance_type="full", callback=press)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    # one pass over all rows, for the labels, is part of it
    assert time.monotonic() - pressed[1] < 5.0
    assert model.labels_.shape == (len(X),) and 2 <= model.n_iter_ < 100_000
    np.testing.assert_array_equal(model.predict(X[:100]), model.labels_[:100])


def test_a_report_is_a_page(heaps, tmp_path):
    DirichletProcessMixture(random_state=0).fit(heaps[0]).report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")


def test_progress_is_told_on_request(heaps, capsys):
    DirichletProcessMixture(random_state=0, method_options={"cycles": 3}).fit(heaps[0])
    assert capsys.readouterr().err == ""
    DirichletProcessMixture(random_state=0, method_options={"cycles": 3}, verbose=1).fit(heaps[0])
    assert "K 3" in capsys.readouterr().err


def test_other_threads_run_while_a_model_is_fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8)) + 6 * rng.integers(0, 5, size=(20_000, 1))
    ticks, over = [], threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    DirichletProcessMixture(random_state=0, method_options={"cycles": 20}, n_jobs=1).fit(X)
    end = time.monotonic()
    over.set()
    thread.join()
    # had the lock been held, there would be one long gap
    times = [t for t in ticks if begin < t < end]
    assert max(np.diff([begin, *times, end])) < 0.5 * (end - begin)


def test_seeds_are_those_of_scikit_learn(heaps):
    X, _ = heaps
    for make in (lambda: np.random.RandomState(3), lambda: np.random.default_rng(3), lambda: np.int64(3)):
        first = DirichletProcessMixture(random_state=make(), method_options={"cycles": 2}, method="cgs").fit(X)
        second = DirichletProcessMixture(random_state=make(), method_options={"cycles": 2}, method="cgs").fit(X)
        assert first.log_joint_ == second.log_joint_
    free = [DirichletProcessMixture(random_state=None, method_options={"cycles": 2}, method="cgs").fit(X).log_joint_ for _ in range(4)]
    assert len(set(free)) > 1


def test_pictures_and_arviz(heaps):
    X, _ = heaps
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    model = DirichletProcessMixture(random_state=0, chains=2, draws=5).fit(X)
    ax = model.plot(X)
    assert ax.get_title() == "3 clusters"
    with pytest.raises(ValueError, match="columns"):
        model.plot(X, columns=(0, 5))
    pytest.importorskip("arviz")
    data = model.to_arviz()
    assert data.posterior["k"].sizes["chain"] == 2


def test_columns_of_pandas_are_what_their_types_say():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    side = np.arange(120) % 2
    table = pandas.DataFrame(
        {
            "x": rng.normal(size=120) + 9 * side,
            "code": pandas.Categorical([f"code {ix % 3}" for ix in range(120)]),
            "name": pandas.Series([f"n{100 * (ix % 4):04}" for ix in range(120)], dtype="string"),
            "flag": side == 1,
            "rating": 1 + np.arange(120) % 5,
            "many": 7 * np.arange(120),
        }
    )
    model = DirichletProcessMixture(random_state=0).fit(table)
    columns = model._run.json("model.json")["model"]["columns"]
    laws = [next(iter(column["law"])) for column in columns]
    assert laws == ["normal", "categorical", "categorical", "bernoulli", "categorical", "normal"]
    assert model._run.json("model.json")["columns"]["levels"][2] == ["n0000", "n0100", "n0200", "n0300"]


def test_the_weight_of_the_prior_of_documents_is_one_number(documents):
    counts = scipy.sparse.csr_matrix(documents[0])
    light, heavy = (DirichletProcessMixture(prior={"prior_documents": weight}, random_state=0).fit(counts) for weight in (2.0, 200.0))
    gammas = [model._run.json("model.json")["model"]["smoothing"] for model in (light, heavy)]
    assert gammas == pytest.approx([2.0 * 40 / 12, 200.0 * 40 / 12])
    with pytest.raises(ValueError, match="prior_documents|prior-documents"):
        DirichletProcessMixture(random_state=0, prior={"prior_documents": 2.0, "gamma": 1.0}).fit(counts)
    assert DirichletProcessMixture(prior={"gamma": "learn"}, random_state=0).fit(counts).n_components_ == 2


def _digits(library):
    """A table of one number and columns of digits that are no numbers, and the same rows with levels that are new."""
    side = np.arange(120) % 2
    x = np.random.default_rng(3).normal(size=120) + 9 * side
    zips, ages = [["01234", "98101", "00501"][ix % 3] for ix in range(120)], [[20, 30, 40, 50][ix % 4] for ix in range(120)]
    counts = [None if ix % 7 == 0 else 3 * ix for ix in range(120)]
    if library == "pandas":
        import pandas

        return pandas.DataFrame(
            {
                "x": x,
                "zip": pandas.Series(zips, dtype="string"),
                "object": pandas.Series(zips, dtype=object),
                "age": pandas.Categorical(ages),
                "half": pandas.Categorical([age / 20 for age in ages]),
                "flag": pandas.Series([bool(one) for one in side], dtype="boolean"),
                "count": pandas.array(counts, dtype="Int64"),
            }
        )
    columns = {"x": x, "zip": zips, "object": zips, "age": [str(age) for age in ages], "half": [f"{age / 20:g}" for age in ages], "flag": side == 1, "count": counts}
    if library == "polars":
        import polars

        return polars.DataFrame(columns).with_columns(polars.col("zip").cast(polars.Categorical), polars.col("half").cast(polars.Categorical))
    import pyarrow

    table = pyarrow.table(columns)
    return table.set_column(1, "zip", table.column("zip").dictionary_encode())


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_text_of_digits_and_categories_of_numbers_are_levels(library):
    pytest.importorskip(library)
    table = _digits(library)
    model = DirichletProcessMixture(random_state=0).fit(table)
    saved = model._run.json("model.json")
    laws = [next(iter(column["law"])) for column in saved["model"]["columns"]]
    assert laws == ["normal", "categorical", "categorical", "categorical", "categorical", "bernoulli", "normal"]
    zips = ["01234", "98101", "00501"]
    assert saved["columns"]["levels"] == [None, zips, zips, ["20", "30", "40", "50"], ["1", "1.5", "2", "2.5"], None, None]
    assert saved["model"]["columns"][6]["has_missing"]
    np.testing.assert_array_equal(model.predict(table), model.labels_)


def test_levels_are_found_again_under_other_types():
    pandas = pytest.importorskip("pandas")
    table = _digits("pandas")
    model = DirichletProcessMixture(random_state=0).fit(table)
    # numbers where there were categories of numbers, strings where there were objects, integers where there were booleans
    other = table.assign(age=table["age"].astype(int), half=table["half"].astype(float), object=table["object"].astype("string"), flag=table["flag"].astype(int))
    np.testing.assert_array_equal(model.predict(other), model.labels_)
    # a level that the fit has not seen is a missing cell, whatever it looks like
    unseen = model.predict_proba(table.assign(zip="1234"))
    missing = model.predict_proba(table.assign(zip=pandas.Series([None] * len(table), dtype="string")))
    np.testing.assert_array_equal(unseen, missing)


def test_codes_of_a_file_keep_their_zeros(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = _digits("pandas")[["x", "zip"]]
    table.to_csv(tmp_path / "rows.csv", index=False)
    model = DirichletProcessMixture(random_state=0).fit(tmp_path / "rows.csv")
    assert model._run.json("model.json")["columns"]["levels"][1] == ["01234", "98101", "00501"]
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    np.testing.assert_array_equal(DirichletProcessMixture(random_state=0).fit(table).labels_, model.labels_)


def test_the_tree_gives_clusters_at_any_resolution(heaps):
    X, _ = heaps
    model = DirichletProcessMixture(random_state=0).fit(X)
    n = model.n_components_
    assert model.tree_.shape == (n - 1, 4)
    assert np.array_equal(model.cut("components"), model.component_labels_)
    assert np.array_equal(model.cut(), model.labels_)
    assert set(model.cut(1)) == {0}
    coarse = model.cut(2)
    # every component is in one cluster
    assert all(len(set(coarse[model.component_labels_ == label])) == 1 for label in range(n))
    with pytest.raises(ValueError, match="`n_clusters` 0 makes no sense"):
        model.cut(0)
    with pytest.raises(ValueError, match="`n_clusters` 1000 is not among 1 to"):
        model.cut(1000)


@pytest.mark.parametrize("n_clusters", ["auto", "components", 2])
def test_everything_speaks_of_the_clusters_that_were_asked_for(heaps, n_clusters):
    X, _ = heaps
    model = DirichletProcessMixture(n_clusters, random_state=0).fit(X)
    assert model.n_clusters_ == len(set(model.labels_))
    np.testing.assert_array_equal(model.labels_, model.cut(n_clusters))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(X), model.n_clusters_)
    chosen = probabilities[np.arange(len(X)), model.labels_]
    np.testing.assert_allclose(chosen, model.certainty_, atol=1e-5)
    assert set(model.sample(50)[1]) <= set(range(model.n_clusters_))
    assert model.plot_tree().get_title() == f"{model.n_components_} components"


def test_draws_support_the_tree(heaps):
    X, _ = heaps
    model = DirichletProcessMixture(draws=10, random_state=0).fit(X)
    support = model.tree_support_
    assert support.shape == (model.n_components_ - 1,) and np.nanmin(support) >= 0 and np.nanmax(support) <= 1
    with pytest.raises(AttributeError, match="there are no draws"):
        DirichletProcessMixture(random_state=0).fit(X).tree_support_  # noqa: B018


def test_what_was_used_is_told_and_can_be_used_again(heaps):
    X, _ = heaps
    model = DirichletProcessMixture(random_state=0).fit(X)
    again = DirichletProcessMixture(
        family=model.family_, covariance_type=model.covariance_type_, random_state=model.seed_
    ).fit(X)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert model.family_ == "gaussian" and set(model.prior_) <= {"sigma", "sigma0", "kappa0", "nu0", "psi0", "a0", "b0"}
    assert "nats per row" in model.choices_["covariance"][1]
