"""From what Python users have to rows: arrays, sparse matrices, tables, files.

Cells are copied once, into Rust. Before that, an array that is not float32 or float64 in C order is converted, which is another copy; a file is
mapped and not copied at all.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ._core import Rows

#: Cells of a sparse matrix of measurements up to which it is made dense: 800 MB.
MOST_DENSE_CELLS = 100_000_000


def rows_of(estimator: Any, X: Any, *, reset: bool, family: str | None) -> Rows:
    """The rows of X. With `reset`, the estimator learns the columns of X; otherwise X must have those it has learnt."""
    if is_files(X):
        return Rows.files(paths_of(X))
    if scipy.sparse.issparse(X):
        return _sparse(estimator, X, reset=reset, family=family)
    if (table := _columns_of(X)) is not None:
        # only names and their number: the cells are for Rust to judge
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return Rows.table(*table)
    # scikit-learn's own message for NaN and infinity would not name the cell
    array = validate_data(
        estimator, X, reset=reset, ensure_all_finite=False, dtype=(np.float64, np.float32), order="C"
    )
    return Rows.dense(array)


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


def _sparse(estimator: Any, X: Any, *, reset: bool, family: str | None) -> Rows:
    matrix = validate_data(estimator, X, reset=reset, accept_sparse="csr", ensure_all_finite=False, dtype="numeric")
    matrix = scipy.sparse.csr_matrix(matrix, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if family == "multinomial" or (family is None and _holds_counts(matrix.data)):
        return Rows.counts(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int64),
            np.ascontiguousarray(matrix.data, dtype=np.float64),
            matrix.shape[1],
        )
    if matrix.shape[0] * matrix.shape[1] > MOST_DENSE_CELLS:
        raise ValueError(
            f"X is sparse and does not hold counts; as a dense array it would have {matrix.shape[0]} × {matrix.shape[1]} cells\n"
            "hint: make it narrower first, for example with sklearn.decomposition.TruncatedSVD"
        )
    return Rows.dense(np.ascontiguousarray(matrix.toarray(), dtype=np.float64))


def _holds_counts(data: NDArray[Any]) -> bool:
    return bool(np.all((data >= 0) & (data == np.floor(data))))


#: Numbers, NaN where a cell is missing; or text, None where it is.
Column = NDArray[np.float64] | list[str | None]


def _columns_of(X: Any) -> tuple[list[Column], list[str] | None] | None:
    """The columns of a table of pandas, polars or pyarrow, and what they are called; None for anything else."""
    library = type(X).__module__.partition(".")[0]
    if library == "pandas" and hasattr(X, "columns"):
        names = list(X.columns) if all(isinstance(name, str) for name in X.columns) else None
        columns = [_of_pandas(X.iloc[:, ix]) for ix in range(X.shape[1])]
    elif library == "polars" and hasattr(X, "get_columns"):
        names, columns = list(X.columns), [_of_polars(column) for column in X.get_columns()]
    elif library == "pyarrow" and hasattr(X, "column_names"):
        names, columns = list(X.column_names), [_of_arrow(column) for column in X.columns]
    else:
        return None
    if not columns or len(columns[0]) == 0:
        raise ValueError(f"Found array with {len(X)} sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    return columns, names


def _of_pandas(column: Any) -> Column:
    from pandas.api import types

    if types.is_complex_dtype(column.dtype):
        raise ValueError(f"column {column.name}: complex numbers are not supported")
    kind = types.infer_dtype(column, skipna=True) if column.dtype == object else ""
    is_number = types.is_bool_dtype(column.dtype) or types.is_numeric_dtype(column.dtype)
    if is_number or kind in ("integer", "floating", "mixed-integer-float", "boolean", "decimal"):
        return np.ascontiguousarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return _texts(column.astype(object), column.isna())


def _of_polars(column: Any) -> Column:
    if column.dtype.is_numeric() or column.dtype.base_type().__name__ == "Boolean":
        return np.ascontiguousarray(column.cast(float).fill_null(np.nan).to_numpy(), dtype=np.float64)
    return _texts(column.to_list(), column.is_null().to_list())


def _of_arrow(column: Any) -> Column:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        if pa.types.is_boolean(kind):
            column = column.cast(pa.uint8())
        numbers = column.cast(pa.float64(), safe=False).to_numpy()
        return np.array(numbers, dtype=np.float64)
    return _texts(column.to_pylist(), column.is_null().to_pylist())


def _texts(cells: Iterable[Any], missing: Iterable[bool]) -> list[str | None]:
    return [None if is_missing else _text(cell) for cell, is_missing in zip(cells, missing, strict=True)]


def _text(cell: Any) -> str:
    """A category may be a number: 1 and 1.0 are one level, under the name that a column of numbers has for it in `predict`."""
    is_whole = isinstance(cell, (float, np.floating)) and float(cell).is_integer()
    return str(int(cell) if is_whole else cell)
