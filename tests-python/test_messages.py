"""Each message to the user is the same through the command and through Python, but for the names of options; both say what to do instead."""

import subprocess
import warnings

import pytest

from dirigent import DirichletProcessMixture

TABLE = "age,visits,plan,note\n" + "".join(
    f"{20 + ix % 7}.5,{ix % 5},{'free' if ix % 2 else 'pro'},{'' if ix % 9 else 3}\n" for ix in range(60)
)

# what is typed; what Python is given; the error and the hint of the command; those of Python
CASES = [
    (
        "--column-family plan=gaussian",
        {"column_families": {"plan": "gaussian"}},
        "column plan holds text, and --column-family plan=gaussian requires numbers\n"
        "hint: choose plan=categorical, or leave the column out with --exclude plan",
        "column plan holds text, and `column_families` plan=gaussian requires numbers\n"
        "hint: choose plan=categorical, or leave the column out with `exclude` plan",
    ),
    (
        "--column-family age=poisson",
        {"column_families": {"age": "poisson"}},
        "column age holds numbers from 20.5 to 26.5, expected counts: whole numbers from 0 to 2⁴⁰ (poisson)\n"
        "hint: choose age=gaussian, which takes any numbers, or leave --column-family age out",
        "column age holds numbers from 20.5 to 26.5, expected counts: whole numbers from 0 to 2⁴⁰ (poisson)\n"
        "hint: choose age=gaussian, which takes any numbers, or leave `column_families` age out",
    ),
    (
        "--column-family visits=bernoulli",
        {"column_families": {"visits": "bernoulli"}},
        "column visits holds whole numbers from 0 to 4, expected zeros and ones (bernoulli)\n"
        "hint: choose visits=gaussian, which takes any numbers, or leave --column-family visits out",
        "column visits holds whole numbers from 0 to 4, expected zeros and ones (bernoulli)\n"
        "hint: choose visits=gaussian, which takes any numbers, or leave `column_families` visits out",
    ),
    (
        "--column-family size=gaussian",
        {"column_families": {"size": "gaussian"}},
        '--column-family names a column "size", which the data does not have\nhint: the columns are age, visits, plan',
        '`column_families` names a column "size", which the data does not have\nhint: the columns are age, visits, plan',
    ),
    (
        "--family gaussian",
        {"family": "gaussian"},
        "column plan holds text, and --family gaussian requires numbers\n"
        "hint: choose --family mixed, or leave the column out with --exclude plan",
        "column plan holds text, and `family` gaussian requires numbers\n"
        "hint: choose `family` mixed, or leave the column out with `exclude` plan",
    ),
    (
        "--method cgs --workers 2",
        {"method": "cgs", "n_workers": 2},
        "--workers requires another method: --method cgs has one worker and one thread\nhint: leave it out, or choose --method dirigent",
        "`n_workers` requires another method: `method` cgs has one worker and one thread\nhint: leave it out, or choose `method` dirigent",
    ),
    (
        "--method cgs --method-option splits=on",
        {"method": "cgs", "method_options": {"splits": True}},
        "--method-option splits requires --method dirigent, prog, pooled, hung or async, and the method is cgs\n"
        "hint: leave it out, or choose --method dirigent",
        "`splits` requires `method` dirigent, prog, pooled, hung or async, and the method is cgs\n"
        "hint: leave it out, or choose `method` dirigent",
    ),
    (
        "--engine-option latency=1ms",
        {"engine_options": {"latency": "1ms"}},
        "--engine-option latency requires --engine simulated, and the engine is threads\n"
        "hint: leave it out, or choose --engine simulated",
        "`latency` requires `engine` simulated, and the engine is threads\nhint: leave it out, or choose `engine` simulated",
    ),
    (
        "--alpha 0",
        {"alpha": 0},
        "--alpha must be a positive number, got 0\nhint: leave --alpha out to have it chosen from the data",
        "`alpha` must be a positive number, got 0\nhint: leave `alpha` out to have it chosen from the data",
    ),
    (
        "--point vi",
        {"method_options": {"point": "vi"}},
        "--point vi requires --draws: it is the partition closest to all of them\nhint: ask for 100 --draws, or choose another --point",
        "`point` vi requires `draws`: it is the partition closest to all of them\nhint: ask for 100 `draws`, or choose another `point`",
    ),
    (
        "--workers 1000",
        {"n_workers": 1000},
        "--workers 1000 is more than there are rows, 60\nhint: ask for fewer workers",
        "`n_workers` 1000 is more than there are rows, 60\nhint: ask for fewer workers",
    ),
    (
        "--prior sigm=1",
        {"prior": {"sigm": 1}},
        '--prior has no key "sigm"\nhint: did you mean sigma?',
        "`prior` has no key 'sigm'\nhint: did you mean 'sigma'?",
    ),
]


def of_python(parameters, X, **fit):
    with pytest.raises(ValueError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        DirichletProcessMixture(**parameters).fit(X, **fit)
    return str(caught.value)


def of_command(command, *words):
    ended = command("fit", *words)
    assert ended.returncode == 2, ended.stderr
    return ended.stderr.partition("error: ")[2]


@pytest.mark.parametrize(("typed", "parameters", "by_command", "by_python"), CASES, ids=[case[0] for case in CASES])
def test_the_command_and_python_say_the_same(command, tmp_path, typed, parameters, by_command, by_python):
    (tmp_path / "people.csv").write_text(TABLE)
    pandas = pytest.importorskip("pandas")
    assert of_command(command, tmp_path / "people.csv", *typed.split()).startswith(by_command)
    assert of_python(parameters, tmp_path / "people.csv").startswith(by_python)
    # a table in memory is no other table
    table = pandas.read_csv(tmp_path / "people.csv")
    assert of_python(parameters, table).startswith(by_python)


FILES = [
    ("sheet.xlsx", b"PK\x03\x04", "a spreadsheet (.xlsx) cannot be read\nhint: save the sheet as CSV, or convert it to Parquet"),
    ("table.sav", b"x", "the format .sav is not known\nhint: supported are .npy, .csv"),
    ("empty.csv", b"", "the file is empty, expected data\nhint: was it written to the end?"),
    ("header.csv", b"a,b\n", "zero rows: there is nothing below the header\nhint: was it written to the end?"),
    ("ragged.csv", b"a,b\n1,2\n3\n", "found 1 cell, expected 2 as in the first line\nhint: put cells that contain the separator in quotes"),
    ("infinite.csv", b"a,b\n1,2\n3,inf\n", 'found "inf", expected a finite number\nhint: leave the cell empty, or leave the column out with '),
    ("nowhere.csv", None, "no such file\nhint: check the path"),
]


@pytest.mark.parametrize(("name", "content", "told"), FILES, ids=[case[0] for case in FILES])
def test_files_that_cannot_be_read(command, tmp_path, name, content, told):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert told in of_command(command, path)
    assert told in of_python({}, path)


def test_options_of_other_programs_are_answered(command, tmp_path):
    (tmp_path / "people.csv").write_text(TABLE)
    for typed, answer in {"--k": "--clusters K", "--n-clusters": "--clusters K", "--jobs": "-j N", "--random-state": "--seed N"}.items():
        assert answer in of_command(command, tmp_path / "people.csv", typed, "3")
    for given, answer in {"k": "n_clusters", "seed": "random_state", "n_component": "n_components"}.items():
        with pytest.raises(TypeError, match=answer if given != "n_component" else "no parameter 'n_component'"):
            DirichletProcessMixture(**{given: 3})


def test_values_that_are_none_of_a_parameter(heaps):
    X, _ = heaps
    assert "`family` must be one of 'auto', 'gaussian'" in of_python({"family": "gausian"}, X)
    assert of_python({"family": "gausian"}, X).endswith("got 'gausian'\nhint: did you mean 'gaussian'?")
    assert of_python({"covariance_type": "tied"}, X).endswith("'full', 'diag', 'isotropic'; got 'tied'")
    assert "`engine` must be one of 'threads', 'simulated', 'ray', 'mpi'; got 'spark'" in of_python({"engine": "spark"}, X)
    assert of_python({"draws": -1}, X) == "`draws` must be a whole number of at least 0; got -1"
    assert of_python({"chains": 1.5}, X) == "`chains` must be a whole number of at least 1; got 1.5"
    assert of_python({"n_jobs": 0}, X) == "`n_jobs` must be a whole number of at least 1, or -1 for all cores; got 0"
    assert "`n_clusters` must be 'auto', 'components' or a whole number" in of_python({"n_clusters": "many"}, X)
    with pytest.raises(TypeError, match="`callback` must be a function"):
        DirichletProcessMixture(callback=3).fit(X)


def test_columns_of_one_name():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"])
    assert of_python({}, table) == "several columns of X are called 'a'\nhint: give each column a name of its own"


def test_left_out_columns_have_one_warning(command, tmp_path):
    lines = [f"C{ix:03},{'abc'[ix % 3]},{1 if ix % 2 else 9}.{ix % 7},,7" for ix in range(90)]
    path = tmp_path / "people.csv"
    path.write_text("id,kind,size,empty,constant\n" + "\n".join(lines) + "\n")
    ended = subprocess_of(command, path, tmp_path)
    [line] = [line for line in ended.stderr.splitlines() if line.startswith("warning: ")]
    with pytest.warns(UserWarning, match="3 columns are left out") as caught:
        model = DirichletProcessMixture(random_state=0).fit(path)
    assert len(caught) == 1
    for name in ("id (", "empty (", "constant ("):
        assert name in line
        assert name in str(caught[0].message)
    assert list(model.feature_names_in_) == ["kind", "size"]
    described = command("info", path)
    assert described.returncode == 0 and described.stdout.count("left out: ") == 3


def subprocess_of(command, path, tmp_path) -> subprocess.CompletedProcess:
    ended = command("fit", path, "--out", tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    return ended


def test_rows_that_fit_no_cluster_are_reported(command, tmp_path, heaps):
    import numpy as np

    X, _ = heaps
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "far.npy", np.array([[0.0, 0.0], [500.0, 500.0]]))
    assert command("fit", tmp_path / "X.npy", "--out", tmp_path / "run", "--quiet").returncode == 0
    ended = command("predict", tmp_path / "run", tmp_path / "far.npy")
    assert "1 of 2 rows fits no known cluster (p_new above 0.5): row 1\n" in ended.stderr
    header, near, far = ended.stdout.splitlines()
    assert header == "row,label,certainty,p_new"
    assert float(near.split(",")[3]) < 0.01 and float(near.split(",")[2]) > 0.9
    assert float(far.split(",")[3]) > 0.99 and float(far.split(",")[2]) < 0.01
    model = DirichletProcessMixture.load(tmp_path / "run")
    with pytest.warns(UserWarning, match="1 of 2 rows fits no known cluster"):
        model.predict(np.load(tmp_path / "far.npy"))
    assert model.new_proba(np.load(tmp_path / "far.npy")).round().tolist() == [0.0, 1.0]
