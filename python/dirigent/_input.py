"""From what Python users have to rows: arrays, sparse matrices, tables, files.

Cells are copied once, into Rust. Before that, an array that is not float32 or float64 in C order is converted, which is another copy; a file is
mapped and not copied at all.
"""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ._core import Rows

#: Cells of a sparse matrix of measurements up to which it is made dense: 800 MB.
MOST_DENSE_CELLS = 100_000_000


def rows_of(estimator: Any, X: Any, *, reset: bool, family: str | None, vocab: Sequence[str] | None = None) -> Rows:
    """The rows of X. With `reset`, the estimator learns the columns of X; otherwise X must have the columns of the fit."""
    if is_files(X):
        return Rows.files(paths_of(X))
    if scipy.sparse.issparse(X):
        return _sparse(estimator, X, reset=reset, family=family, vocab=vocab)
    if vocab is not None:
        raise ValueError("`vocab` names the columns of sparse word counts, and X is not sparse\nhint: leave `vocab` out")
    if type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "collect"):
        X = X.collect()
    if is_table(X):
        X = X if reset else without_passed_over(X, estimator)
        columns, names, kinds = _columns_of(X)
        # only names and their number: the cells are for Rust to judge
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return Rows.table(columns, names, kinds)
    if isinstance(X, np.ma.MaskedArray):
        # masked cells are missing
        masked: Any = X.astype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
        X = masked.filled(np.nan)
    # scikit-learn's own message for NaN and infinity would not name the cell
    array = validate_data(
        estimator, X, reset=reset, ensure_all_finite=False, dtype=(np.float64, np.float32), order="C"
    )
    return Rows.dense(array)


def is_table(X: Any) -> bool:
    """Whether X is a table of pandas, polars or pyarrow."""
    attribute = {"pandas": "columns", "polars": "get_columns", "pyarrow": "column_names"}
    return hasattr(X, attribute.get(type(X).__module__.partition(".")[0], "no table"))


def names_of(X: Any) -> list[str] | None:
    """What the columns of a table are called, if all have names."""
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)
    return names if all(isinstance(name, str) for name in names) else None


def without_passed_over(X: Any, estimator: Any) -> Any:
    """The table without the columns that the fit did not use."""
    model = estimator._run.model
    passed_over, fitted = model.passed_over, model.names
    if fitted is None or passed_over == []:
        return X
    names = names_of(X)
    found = [str(number + 1) for number in range(X.shape[1])] if names is None else names
    if names is None and len(found) == len(fitted):
        return X
    kept = [ix for ix, name in enumerate(found) if name in fitted or (passed_over is not None and name not in passed_over)]
    if len(kept) == len(found):
        return X
    if hasattr(X, "iloc"):
        return X.iloc[:, kept]
    return X.select([found[ix] for ix in kept])


def is_files(X: Any) -> TypeGuard[str | os.PathLike[str] | Sequence[str | os.PathLike[str]]]:
    """Whether X names files."""
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(item, (str, os.PathLike)) for item in X)


def paths_of(X: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files; patterns such as `shards/*.npy` are replaced by what they stand for, in order of names; addresses of a store stay."""
    items = [X] if isinstance(X, (str, os.PathLike)) else X
    paths: list[str] = []
    for item in (os.fspath(item) for item in items):
        is_pattern = glob.has_magic(item) and "://" not in item and not os.path.exists(item)
        found = sorted(glob.glob(item)) if is_pattern else [item]
        if not found:
            raise ValueError(f"{item}: no file has such a name")
        paths.extend(found)
    return paths


def _sparse(estimator: Any, X: Any, *, reset: bool, family: str | None, vocab: Sequence[str] | None) -> Rows:
    with warnings.catch_warnings():
        # a sparse matrix has no names, also if `vocab` named its columns
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        matrix = validate_data(estimator, X, reset=reset, accept_sparse="csr", ensure_all_finite=False, dtype="numeric")
    names = None if vocab is None else [str(word) for word in vocab]
    if names is not None and len(names) != matrix.shape[1]:
        raise ValueError(f"`vocab` has {len(names)} words, but X has {matrix.shape[1]} columns\nhint: give one word per column")
    matrix = scipy.sparse.csr_matrix(matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if family == "multinomial" or (family is None and _holds_counts(matrix.data)):
        return Rows.counts(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int64),
            np.ascontiguousarray(matrix.data, dtype=np.float64),
            matrix.shape[1],
            names,
        )
    if matrix.shape[0] * matrix.shape[1] > MOST_DENSE_CELLS:
        raise ValueError(
            f"X is sparse and does not hold counts; as a dense array it would have {matrix.shape[0]} × {matrix.shape[1]} cells\n"
            "hint: make it narrower first, for example with sklearn.decomposition.TruncatedSVD"
        )
    return Rows.dense(np.ascontiguousarray(matrix.toarray(), dtype=np.float64), names)


def _holds_counts(data: NDArray[Any]) -> bool:
    return bool(np.all((data >= 0) & (data == np.floor(data))))


#: Numbers, NaN where a cell is missing; or text, None where it is.
Column = NDArray[np.float64] | list[str | None]

_DAY_IN_MICROSECONDS = 86_400_000_000


def _columns_of(X: Any) -> tuple[list[Column], list[str] | None, list[str]]:
    """The columns of a table of pandas, polars or pyarrow, their names, and their contents other than numbers and text."""
    if X.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if len(X) == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    names = names_of(X)
    if names is not None and len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"several columns of X are called {', '.join(map(repr, twice))}\nhint: give each column a name of its own")
    if hasattr(X, "iloc"):
        cells = [_of_pandas(X.iloc[:, ix]) for ix in range(X.shape[1])]
    elif hasattr(X, "get_columns"):
        cells = [_of_polars(column) for column in X.get_columns()]
    else:
        cells = [_of_arrow(column) for column in X.columns]
    return [column for column, _ in cells], names, [kind for _, kind in cells]


def _of_pandas(column: Any) -> tuple[Column, str]:
    import pandas
    from pandas.api import types

    dtype = column.dtype
    if types.is_complex_dtype(dtype):
        raise ValueError(f"column {column.name}: complex numbers are not supported")
    kind = types.infer_dtype(column, skipna=True) if dtype == object else ""
    if isinstance(dtype, pandas.CategoricalDtype):
        return _texts(column.astype(object), column.isna()), "levels"
    if isinstance(dtype, pandas.PeriodDtype):
        column = column.dt.to_timestamp()
    elif kind in ("date", "datetime", "datetime64"):
        column = pandas.to_datetime(column, utc=True)
    elif kind in ("timedelta", "timedelta64"):
        column = pandas.to_timedelta(column)
    if types.is_datetime64_any_dtype(column.dtype):
        if getattr(column.dtype, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return _days(column.to_numpy(dtype="datetime64[us]")), "date"
    if types.is_timedelta64_dtype(column.dtype):
        return _days(column.to_numpy(dtype="timedelta64[us]")), "duration"
    is_number = types.is_bool_dtype(dtype) or types.is_numeric_dtype(dtype)
    if is_number or kind in ("integer", "floating", "mixed-integer-float", "boolean", "decimal"):
        return np.ascontiguousarray(column.to_numpy(dtype=np.float64, na_value=np.nan)), ""
    return _texts(column.astype(object), column.isna()), ""


def _of_polars(column: Any) -> tuple[Column, str]:
    kind = column.dtype.base_type().__name__
    if kind in ("Date", "Datetime"):
        microseconds = column.cast(_polars_type("Datetime", "us")).cast(_polars_type("Int64"))
        return _polars_numbers(microseconds) / _DAY_IN_MICROSECONDS, "date"
    if kind == "Duration":
        return _polars_numbers(column.dt.total_microseconds()) / _DAY_IN_MICROSECONDS, "duration"
    if kind == "Time":
        return _polars_numbers(column.cast(_polars_type("Int64"))) / (1000 * _DAY_IN_MICROSECONDS), "duration"
    if column.dtype.is_numeric() or kind == "Boolean":
        return _polars_numbers(column), ""
    return _texts(column.to_list(), column.is_null().to_list()), "levels" if kind in ("Categorical", "Enum") else ""


def _polars_type(name: str, *arguments: str) -> Any:
    import polars

    kind = getattr(polars, name)
    return kind(*arguments) if arguments else kind


def _polars_numbers(column: Any) -> NDArray[np.float64]:
    return np.ascontiguousarray(column.cast(float).fill_null(np.nan).to_numpy(), dtype=np.float64)


def _of_arrow(column: Any) -> tuple[Column, str]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _days(column.cast(pa.timestamp("us"), safe=False).to_numpy().astype("datetime64[us]")), "date"
    if pa.types.is_duration(kind):
        return _days(column.cast(pa.duration("us"), safe=False).to_numpy().astype("timedelta64[us]")), "duration"
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        if pa.types.is_boolean(kind):
            column = column.cast(pa.uint8())
        numbers = column.cast(pa.float64(), safe=False).to_numpy()
        return np.array(numbers, dtype=np.float64), ""
    return _texts(column.to_pylist(), column.is_null().to_pylist()), "levels" if pa.types.is_dictionary(kind) else ""


def _days(times: NDArray[Any]) -> NDArray[np.float64]:
    """Points in time or durations in microseconds as days; NaN where there is none."""
    days = times.astype(np.int64) / _DAY_IN_MICROSECONDS
    days[np.isnat(times)] = np.nan
    return np.ascontiguousarray(days)


def _texts(cells: Iterable[Any], missing: Iterable[bool]) -> list[str | None]:
    return [None if is_missing else _text(cell) for cell, is_missing in zip(cells, missing, strict=True)]


def _text(cell: Any) -> str:
    """A category may be a number: 1 and 1.0 are one level, under the name that a column of numbers has for it in `predict`."""
    is_whole = isinstance(cell, (float, np.floating)) and float(cell).is_integer()
    return str(int(cell) if is_whole else cell)
