"""The Rust part of the package."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Host", "Model", "Rows", "__version__", "cut", "fit", "merge", "run_cli", "update"]
__version__: str

@final
class Rows:
    @staticmethod
    def files(paths: Sequence[str | PathLike[str]]) -> Rows: ...
    @staticmethod
    def dense(array: NDArray[np.float32] | NDArray[np.float64], names: Sequence[str] | None = None) -> Rows: ...
    @staticmethod
    def table(
        columns: Sequence[NDArray[np.float64] | list[str | None]],
        names: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
    ) -> Rows: ...
    @staticmethod
    def counts(
        indptr: NDArray[np.int64],
        indices: NDArray[np.int64],
        data: NDArray[np.float64],
        n_columns: int,
        names: Sequence[str] | None = None,
    ) -> Rows: ...

@final
class Host:
    def __new__(cls, place: str) -> Host: ...
    def handle(self, request: bytes, shared: bytes | None = None) -> bytes: ...
    def interrupt(self) -> None: ...

@final
class Model:
    def __new__(cls, folder: str | PathLike[str]) -> Model: ...
    def predict(
        self, rows: Rows, n_threads: int | None = None, of_components: bool = False
    ) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float64], NDArray[np.float64], list[str]]: ...
    def probabilities(self, rows: Rows, n_threads: int | None = None) -> tuple[NDArray[np.float64], list[str]]: ...
    def sample(self, n_rows: int, seed: int) -> tuple[Any, NDArray[np.int32]]: ...
    @property
    def n_components(self) -> int: ...
    @property
    def n_clusters(self) -> int: ...
    @property
    def clusters(self) -> NDArray[np.uint32]: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def names(self) -> list[str] | None: ...
    @property
    def passed_over(self) -> list[str] | None: ...
    @property
    def levels(self) -> list[list[str] | None]: ...

def fit(
    options: str,
    data: str,
    rows: Rows,
    folder: tuple[Path, bool],
    start: NDArray[np.uint32] | None = None,
    truth: NDArray[np.uint32] | None = None,
    on_cycle: Callable[[dict[str, Any]], object] | None = None,
    engines: dict[str, Callable[[], Any]] | None = None,
    on_start: Callable[[str], object] | None = None,
) -> BaseException | None: ...
def cut(folder: Path, n_clusters: str) -> NDArray[np.uint32]: ...
def update(folder: Path, rows: Rows, out: Path | None = None, forget: tuple[str, float] | None = None) -> None: ...
def merge(folders: Sequence[Path], out: Path) -> None: ...
def run_cli(argv: Sequence[str], engines: dict[str, Callable[[], Any]] | None = None) -> int: ...
