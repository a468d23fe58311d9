"""How far a fit is: a line in a terminal that is written over, one in a notebook that is replaced, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

#: Seconds between two lines that are written over, and between two that stay.
_SOON, _SELDOM = 0.1, 10.0
_WIDTH = 24


class Progress:
    """Shows steps of the start, and cycles as they end."""

    def __init__(self) -> None:
        self._notebook = _notebook()
        self._is_terminal = self._notebook is None and sys.stderr.isatty()
        self._shown = 0.0
        self._line = ""

    def on_cycle(self, cycle: dict[str, Any]) -> None:
        """A cycle has ended."""
        self._update(describe(cycle))

    def on_start(self, text: str) -> None:
        """A step of the search for a start begins."""
        self._update(f"start: {text}")

    def _update(self, line: str) -> None:
        self._line = line
        moving = self._notebook is not None or self._is_terminal
        now = time.monotonic()
        if now - self._shown >= (_SOON if moving else _SELDOM):
            self._shown = now
            self._show(self._line)

    def finish(self) -> None:
        """The fit has ended."""
        if self._line:
            self._show(self._line)
        if self._is_terminal:
            print(file=sys.stderr)

    def _show(self, line: str) -> None:
        if self._notebook is not None:
            self._notebook.update({"text/plain": line}, raw=True)
        elif self._is_terminal:
            print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)


def describe(cycle: dict[str, Any]) -> str:
    """A cycle in a line, with a bar where its end is known."""
    done, last = cycle["cycle"], cycle["last_cycle"]
    bar = ""
    if last is not None and last > 0:
        filled = min(_WIDTH, _WIDTH * done // last)
        bar = f"/{last} [{'#' * filled}{'.' * (_WIDTH - filled)}]"
    vi = "" if cycle["vi"] is None else f"  VI {cycle['vi']:.3f}"
    chain = f"chain {cycle['chain']}  " if cycle["chain"] > 1 else ""
    return f"{chain}cycle {done}{bar}  K {cycle['k']}  log-joint {cycle['log_joint']:.1f}{vi}  {cycle['seconds']:.1f} s"


def _notebook() -> Any:
    """A place in a notebook's output, if this runs in one."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython
    from IPython.display import display

    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return display({"text/plain": ""}, raw=True, display_id=True)
