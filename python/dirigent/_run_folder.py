"""A run folder as an estimator holds it: in a temporary place, or where the user wants it."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import Model


class RunFolder:
    """The files of a run. Large ones are read when they are asked for."""

    def __init__(self, path: Path, *, is_temporary: bool) -> None:
        self.path = path
        self._model: Model | None = None
        self._lock = threading.Lock()
        if is_temporary:
            weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)

    @classmethod
    def temporary(cls) -> RunFolder:
        """An empty folder that is removed with its last user."""
        return cls(Path(tempfile.mkdtemp(prefix="dirigent-")), is_temporary=True)

    @property
    def model(self) -> Model:
        """The model, read once."""
        with self._lock:
            if self._model is None:
                self._model = Model(self.path)
            return self._model

    def json(self, name: str) -> Any:
        """A file of JSON."""
        return json.loads((self.path / name).read_text(encoding="utf-8"))

    def array(self, name: str) -> NDArray[Any]:
        """A file with one array."""
        array: NDArray[Any] = np.load(self.path / name)
        return array

    def components(self) -> dict[str, NDArray[Any]]:
        """The arrays of `components.npz`."""
        with np.load(self.path / "components.npz") as arrays:
            return dict(arrays)

    def trace(self) -> dict[str, NDArray[Any]]:
        """The columns of `trace.csv`, which are whole numbers where all cells are; an empty cell is NaN."""
        with open(self.path / "trace.csv", newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file)
        cells = np.array(lines, dtype=str).reshape(len(lines), len(header))
        return {name: _numbers(cells[:, ix]) for ix, name in enumerate(header)}

    def copy_to(self, path: Path) -> None:
        """Copies the files into a folder that is new or empty."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise FileExistsError(f"{path}: there is something already\nhint: name a folder that is new or empty")
        shutil.copytree(self.path, path, dirs_exist_ok=True)

    # a pickle holds the files themselves
    def __getstate__(self) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in sorted(self.path.iterdir()) if file.is_file()}

    def __setstate__(self, files: dict[str, bytes]) -> None:
        RunFolder.__init__(self, Path(tempfile.mkdtemp(prefix="dirigent-")), is_temporary=True)
        for name, contents in files.items():
            # a name with a folder in it would lead out of ours
            (self.path / Path(name).name).write_bytes(contents)


def _numbers(cells: NDArray[np.str_]) -> NDArray[Any]:
    try:
        return cells.astype(np.int64)
    except ValueError:
        return np.where(cells == "", "nan", cells).astype(np.float64)
