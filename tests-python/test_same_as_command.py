"""Python and the command give the same labels, to the last bit, for the same data and seed."""

import json

import numpy as np
import pytest
import scipy.sparse

from dirigent import DirichletProcessMixture


def fitted_by_command(command, tmp_path, *arguments):
    run = tmp_path / "run"
    result = command("fit", *arguments, "--out", run, "--quiet")
    assert result.returncode == 0, result.stderr
    return run


@pytest.mark.parametrize(
    ("parameters", "options"),
    [
        ({"random_state": 0}, ["--seed", "0"]),
        ({"random_state": 7, "method": "cgs", "method_options": {"cycles": 12}}, ["--seed", "7", "--method", "cgs", "--cycles", "12"]),
        ({"n_workers": 4, "n_jobs": 2, "method_options": {"splits": False}}, ["--workers", "4", "--threads", "2", "--method-option", "splits=off"]),
        (
            {"method": "hung", "n_workers": 4, "method_options": {"joins": "by_id", "first_alpha": "full"}},
            "--method hung --workers 4 --method-option joins=by_id,first_alpha=full".split(),
        ),
        ({"n_clusters": 2}, ["--clusters", "2"]),
        ({"n_clusters": "components"}, ["--clusters", "components"]),
        ({"standardize": True, "pca": 1, "alpha": 0.5}, ["--standardize", "--pca", "1", "--alpha", "0.5"]),
        ({"draws": 5, "chains": 2, "method_options": {"point": "vi"}}, ["--draws", "5", "--chains", "2", "--point", "vi"]),
        ({"family": "vmf", "normalize": True}, ["--family", "vmf", "--normalize"]),
        (
            {
                "engine": "simulated",
                "n_workers": 3,
                "engine_options": {"straggler": {1: 2.5}, "crash": {2: 3}, "row_cost": 1e-6},
                "method_options": {"cycles": 9},
            },
            "--engine simulated --workers 3 --engine-option straggler=1:2.5,crash=2@3,row_cost=1e-6 --cycles 9".split(),
        ),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_array_and_its_file(command, tmp_path, heaps, parameters, options, dtype):
    X = heaps[0].astype(dtype)
    np.save(tmp_path / "x.npy", X)
    run = fitted_by_command(command, tmp_path, tmp_path / "x.npy", *options)
    model = DirichletProcessMixture(**{"random_state": 0} | parameters).fit(X)
    np.testing.assert_array_equal(model.labels_, np.load(run / "labels.npy"))
    np.testing.assert_array_equal(model.certainty_, np.load(run / "certainty.npy"))
    record = json.loads((run / "run.json").read_text())
    assert model.log_joint_ == record["summary"]["log_joint"]
    assert model.n_iter_ == record["summary"]["cycles"]
    if "draws" in parameters:
        np.testing.assert_array_equal(model.draws_, np.load(run / "draws.npy"))
        assert model.n_components_posterior_ == {int(k): p for k, p in record["posterior"]["k"]["shares"].items()}


def test_sparse_counts_and_a_docword_file(command, tmp_path, documents):
    counts = scipy.sparse.csr_matrix(documents[0])
    entries = scipy.sparse.coo_matrix(counts)
    lines = [f"{i + 1} {j + 1} {int(n)}" for i, j, n in zip(entries.row, entries.col, entries.data)]
    (tmp_path / "docword.t.txt").write_text(f"{counts.shape[0]}\n{counts.shape[1]}\n{counts.nnz}\n" + "\n".join(lines) + "\n")
    run = fitted_by_command(command, tmp_path, tmp_path / "docword.t.txt")
    model = DirichletProcessMixture(random_state=0).fit(counts)
    assert model.family_ == "multinomial"
    np.testing.assert_array_equal(model.labels_, np.load(run / "labels.npy"))
    dense = DirichletProcessMixture(family="multinomial", random_state=0).fit(documents[0])
    np.testing.assert_array_equal(model.labels_, dense.labels_)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_table_with_text_and_missing_cells_and_its_file(command, tmp_path, library):
    pytest.importorskip(library)
    rng = np.random.default_rng(5)
    colours = ["red", "blue", None, "green"]
    rows = [(rng.normal() + 9 * (i % 2), colours[i % 4], bool(i % 2), None if i % 11 == 0 else float(rng.poisson(3))) for i in range(120)]
    file = tmp_path / "t.csv"
    texts = [[repr(x), colour or "", int(flag), "" if n is None else repr(n)] for x, colour, flag, n in rows]
    file.write_text("x,colour,flag,n\n" + "\n".join(",".join(map(str, line)) for line in texts) + "\n")
    columns = {name: [row[ix] for row in rows] for ix, name in enumerate(["x", "colour", "flag", "n"])}
    module = __import__(library)
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    run = fitted_by_command(command, tmp_path, file)
    model = DirichletProcessMixture(random_state=0).fit(table)
    np.testing.assert_array_equal(model.labels_, np.load(run / "labels.npy"))
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    np.testing.assert_array_equal(model.predict(file), model.labels_)
    sampled, labels = model.sample(50)
    assert len(sampled) == len(labels) == 50
    assert set(np.asarray(sampled)[:, 1]) <= {"red", "blue", "green"}


def test_files_are_read_as_the_command_reads_them(command, tmp_path, heaps):
    X, truth = heaps
    np.save(tmp_path / "part-0.npy", X[:50])
    np.save(tmp_path / "part-1.npy", X[50:])
    run = fitted_by_command(command, tmp_path, tmp_path / "part-0.npy", tmp_path / "part-1.npy")
    for files in (str(tmp_path / "part-*.npy"), [tmp_path / "part-0.npy", tmp_path / "part-1.npy"]):
        model = DirichletProcessMixture(random_state=0).fit(files)
        np.testing.assert_array_equal(model.labels_, np.load(run / "labels.npy"))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    with_truth = DirichletProcessMixture(random_state=0).fit(X, truth=truth)
    assert with_truth.trace_["vi"].iloc[-1] < 0.1


def test_a_run_of_the_command_can_be_loaded_and_a_saved_model_predicted_by_the_command(command, tmp_path, heaps):
    X, _ = heaps
    np.save(tmp_path / "x.npy", X)
    run = fitted_by_command(command, tmp_path, tmp_path / "x.npy")
    loaded = DirichletProcessMixture.load(run)
    np.testing.assert_array_equal(loaded.predict(X), np.load(run / "labels.npy"))
    model = DirichletProcessMixture(covariance_type="diag", random_state=4, alpha=np.float64(2)).fit(X)
    model.save(tmp_path / "saved")
    result = command("predict", tmp_path / "saved", tmp_path / "x.npy", "--out", tmp_path / "labels.npy")
    assert result.returncode == 0, result.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), model.labels_)
    again = DirichletProcessMixture.load(tmp_path / "saved")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "saved")
    with pytest.raises(FileNotFoundError):
        DirichletProcessMixture.load(tmp_path / "nowhere")


def test_the_command_speaks_with_its_own_voice(command):
    assert command("--version").stdout.startswith("dirigent ")
    assert command().returncode == 2
    wrong = command("fit", "nowhere.npy")
    assert wrong.returncode == 2 and "nowhere.npy" in wrong.stderr
    # without a launcher of MPI, with or without mpi4py, there is somebody to be told
    alone = command("fit", "nowhere.npy", "--engine", "mpi")
    assert alone.returncode == 2 and "--engine mpi: " in alone.stderr and "hint: " in alone.stderr
