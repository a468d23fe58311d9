"""Writes the small files that tests/formats.rs reads, by the programs that people use.

    pip install numpy scipy pandas pyarrow scikit-learn
    python make.py

The files are kept, so that tests need no Python. Every table holds the same rows.
"""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

HERE = Path(__file__).parent
rng = np.random.default_rng(7)
N = 30

# measurements with a class, a text column, a truth value and missing cells
x = np.round(rng.normal(size=N), 6) * 10.0 ** rng.integers(-3, 8, N)
x[0] = 0.1 + 0.2
mixed = pd.DataFrame(
    {
        "x": x,
        "count": rng.integers(0, 50, N),
        "flag": rng.integers(0, 2, N).astype(bool),
        "colour": rng.choice(["red", "blue", "green"], N),
        "gap": np.where(rng.random(N) < 0.3, np.nan, np.round(rng.random(N), 4)),
        "kind": rng.choice(["cat", "dog", "owl"], N),
    }
)
mixed.loc[[3, 11], "colour"] = None
as_text = mixed.assign(flag=mixed["flag"].astype(int))
as_text.to_csv(HERE / "mixed.csv", index=False)
as_text.to_csv(HERE / "mixed.tsv.gz", index=False, sep="\t", compression={"method": "gzip", "mtime": 0})
for compression in ["snappy", "zstd", "gzip", "none"]:
    mixed.to_parquet(HERE / f"mixed_{compression}.parquet", index=False, compression=compression)
table = pa.Table.from_pandas(mixed, preserve_index=False)
pq.write_table(table, HERE / "mixed_groups.parquet", row_group_size=7, data_page_version="2.0", use_dictionary=False)
pq.write_table(
    table.drop_columns(["colour", "kind", "flag"]),
    HERE / "numbers_encoded.parquet",
    use_dictionary=False,
    column_encoding={"x": "BYTE_STREAM_SPLIT", "gap": "PLAIN", "count": "DELTA_BINARY_PACKED"},
)
pq.write_table(table.slice(0, 12), HERE / "mixed_part1.parquet")
pq.write_table(table.slice(12), HERE / "mixed_part2.parquet")

# plain numbers
numbers = mixed[["x", "count", "gap"]].astype(float)
np.save(HERE / "numbers.npy", numbers.to_numpy())
np.savez(HERE / "numbers.npz", rows=numbers.to_numpy())
np.savez_compressed(HERE / "numbers_compressed.npz", rows=numbers.to_numpy())
np.savez(HERE / "two_arrays.npz", a=np.zeros(3), b=np.ones(3))
scipy.io.mmwrite(HERE / "numbers.mtx", numbers.to_numpy(), precision=17)

# embeddings: lists of single precision numbers
vectors = rng.normal(size=(N, 4)).astype(np.float32)
np.save(HERE / "vectors.npy", vectors)
lists = pa.array(list(vectors), pa.list_(pa.float32()))
fixed = pa.FixedSizeListArray.from_arrays(vectors.ravel(), 4)
ids = pa.array([f"id{i}" for i in range(N)])
pq.write_table(pa.table({"id": ids, "vector": lists}), HERE / "vectors.parquet", row_group_size=11)
pq.write_table(pa.table({"id": ids, "vector": fixed}), HERE / "vectors_fixed.parquet")
gaps = pa.array([None if i % 5 == 0 else list(map(float, v)) for i, v in enumerate(vectors)], pa.list_(pa.float32()))
pq.write_table(pa.table({"vector": gaps}), HERE / "vectors_gaps.parquet", row_group_size=1)
ragged = pa.array([[1.0, 2.0], [3.0, 4.0], [5.0]])
pq.write_table(pa.table({"vector": ragged}), HERE / "vectors_ragged.parquet")

# types that are not measurements, and some that are
odd = pa.table(
    {
        "when": pa.array(pd.date_range("2020-01-01", periods=3)),
        "price": pa.array([1, 25, -3], pa.decimal128(7, 2)),
        "cents": pa.array([1.25, -0.5, 3.0]).cast(pa.decimal128(7, 2)),
        "big": pa.array([2**63, 1, 0], pa.uint64()),
        "small": pa.array([200, 1, 0], pa.uint8()),
        "part": pa.array([{"a": 1, "b": 2.5}, {"a": 3, "b": None}, None]),
        "nested": pa.array([[[1]], [[2]], [[3]]]),
        "words": pa.array([["a"], ["b"], ["c"]]),
        "raw": pa.array([b"\xff", b"b", b"c"]),
        "infinite": pa.array([1.0, np.inf, 2.0]),
    }
)
pq.write_table(odd, HERE / "odd.parquet", store_decimal_as_integer=True)
pq.write_table(odd.select(["small"]).slice(0, 0), HERE / "no_rows.parquet")
pq.write_table(odd.select(["small"]), HERE / "lz4.parquet", compression="lz4")

# sparse counts with a class
counts = scipy.sparse.random(N, 12, density=0.25, random_state=3, data_rvs=lambda n: rng.integers(1, 9, n)).astype(np.int64)
counts = counts.tocsr()
counts.data[0] = 4_000
classes = rng.integers(0, 3, N)
with open(HERE / "docword.counts.txt", "w") as file:
    coo = counts.tocoo()
    file.write(f"{N}\n12\n{coo.nnz}\n")
    for d, w, c in sorted(zip(coo.row + 1, coo.col + 1, coo.data)):
        file.write(f"{d} {w} {c}\n")
np.savetxt(HERE / "counts_labels.txt", classes, fmt="%d")
dump_svmlight_file(counts, classes, str(HERE / "counts.svm"), zero_based=False, comment="written by scikit-learn")
dump_svmlight_file(counts, classes, str(HERE / "counts_from_zero.libsvm"), zero_based=True)
with open(HERE / "counts.svm", "rb") as source:
    (HERE / "counts.svmlight.gz").write_bytes(gzip.compress(source.read(), mtime=0))
dump_svmlight_file(counts[:17], classes[:17], str(HERE / "counts_part1.svm"), zero_based=False)
dump_svmlight_file(counts[17:], classes[17:], str(HERE / "counts_part2.svm"), zero_based=False)
scipy.io.mmwrite(HERE / "counts.mtx", counts, field="integer", symmetry="general")
scipy.io.mmwrite(HERE / "counts_by_column.mtx", counts.tocsc(), field="real", symmetry="general")
scipy.io.mmwrite(HERE / "pattern.mtx", counts, field="pattern", symmetry="general")
scipy.io.mmwrite(HERE / "symmetric.mtx", scipy.sparse.eye(4), symmetry="symmetric")
scipy.sparse.save_npz(HERE / "counts.npz", counts, compressed=True)
scipy.sparse.save_npz(HERE / "counts_stored.npz", scipy.sparse.csr_array(counts).astype(np.float32), compressed=False)
scipy.sparse.save_npz(HERE / "counts_csc.npz", counts.tocsc())
scipy.sparse.save_npz(HERE / "counts_coo.npz", counts.tocoo())

# sparse measurements
halves = counts.astype(float) / 2
halves[0, 0] = -1.5
scipy.sparse.save_npz(HERE / "halves.npz", halves.tocsr())
np.save(HERE / "halves.npy", halves.toarray())
dump_svmlight_file(halves, classes, str(HERE / "halves.svm"), zero_based=False)
