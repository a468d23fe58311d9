"""Runs the notebooks of notebooks/ from top to bottom, each in a fresh kernel, and prints the processor seconds of each. A cell that fails is a failure.

Needs tests-python/requirements-notebooks.txt and the package, as `scripts/test_python` installs them.

usage: run_notebooks.py [--write] [NAME…]     --write keeps the outputs and pictures in the notebooks
"""

import base64
import os
import resource
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
# matplotlib's default draws at 100 dots per inch; two thirds of that is enough on a page and keeps the files small
SETTINGS = "%matplotlib inline\n%config InlineBackend.print_figure_kwargs = {'dpi': 72}\nimport warnings; warnings.simplefilter('ignore')"


def run(path):
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(SETTINGS))
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    del notebook.cells[0]
    for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), 1):
        cell.execution_count = number
        cell.metadata = {}
        for output in cell.outputs:
            if "execution_count" in output:
                output["execution_count"] = number
    return notebook


def n_pictures(notebook):
    """Pictures of a notebook, each with something on it."""
    data = [output.get("data", {}).get("image/png") for cell in notebook.cells for output in cell.get("outputs", [])]
    return sum(len(base64.b64decode(picture)) > 1000 for picture in data if picture)


def main():
    names = [name for name in sys.argv[1:] if name != "--write"]
    paths = [FOLDER / f"{name}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb"))
    if not paths:
        sys.exit("there are no notebooks: has their place changed?")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for path in paths:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        notebook = run(path)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{path.name}: {n_pictures(notebook)} pictures, {seconds:.0f} processor seconds", flush=True)
        if n_pictures(notebook) == 0:
            sys.exit(f"{path.name}: has no picture")
        if "--write" in sys.argv:
            nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
