"""Measures how long files and functions are: Rust under crates/, Python under python/.

usage: measure_code.py [--longest N]     --longest also lists the N longest files and functions of each kind

Lines are counted as they stand, comments and blank ones included. A Rust function goes from the line of its `fn` to its closing brace, so attributes and
documentation do not count; one without a body is not a function. Functions within functions count themselves, and in what they stand in.
"""

import argparse
import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = {
    "Rust, src": "crates/*/src/**/*.rs",
    "Rust, tests": "crates/*/tests/**/*.rs",
    "Python, package": "python/**/*.py",
    "Python, tests": "tests-python/**/*.py",
}
# what may hold a brace that is none; a lifetime ('a) is not a character ('a')
NO_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | b?r(?P<hashes>\#*)".*?"(?P=hashes) | b?"(?:\\.|[^"\\])*" | b?'(?:\\[^\n]+?|[^'\\\n])'""",
    re.DOTALL | re.VERBOSE,
)
FUNCTION = re.compile(r"\bfn\s+(\w+)")


def functions_of_rust(text):
    """The name, the first and the last line of every function."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    for found in FUNCTION.finditer(code):
        end = end_of_body(code, found.end())
        if end is not None:
            yield found.group(1), code.count("\n", 0, found.start()) + 1, code.count("\n", 0, end) + 1


def end_of_body(code, at):
    """Where the brace closes that opens next; `None` if a semicolon outside all brackets comes first."""
    depth, n_brackets = 0, 0
    for ix in range(at, len(code)):
        sign = code[ix]
        if sign in "([":
            n_brackets += 1
        elif sign in ")]":
            n_brackets -= 1
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return ix
        elif sign == ";" and depth == 0 and n_brackets == 0:
            return None
    return None


def functions_of_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno


def measure(pattern):
    """The lengths of the files of a kind and of their functions, each with its name."""
    files, functions = [], []
    for path in sorted(ROOT.glob(pattern)):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        files.append((len(text.splitlines()), name))
        found = functions_of_rust(text) if path.suffix == ".rs" else functions_of_python(text)
        functions.extend((last - first + 1, f"{name}:{first} {function}") for function, first, last in found)
    return sorted(files), sorted(functions)


def quantile(sorted_lengths, share):
    """The smallest length that so great a share does not exceed."""
    return sorted_lengths[max(0, -int(-share * len(sorted_lengths) // 1) - 1)][0]


def row(kind, what, lengths):
    total = sum(length for length, _ in lengths)
    numbers = [len(lengths), total, quantile(lengths, 0.5), quantile(lengths, 0.9), lengths[-1][0]]
    return f"{kind:16} {what:10}" + "".join(f"{number:>9}" for number in numbers) + f"  {lengths[-1][1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--longest", type=int, default=0, metavar="N", help="also list the N longest of each kind")
    n_longest = parser.parse_args().longest
    print(f"{'':27}" + "".join(f"{title:>9}" for title in ("number", "lines", "median", "90 %", "longest")))
    measured = {kind: measure(pattern) for kind, pattern in KINDS.items()}
    for kind, (files, functions) in measured.items():
        print(row(kind, "files", files))
        print(row("", "functions", functions))
    for kind, lists in measured.items():
        for what, lengths in zip(("files", "functions"), lists):
            if n_longest:
                print(f"\n{kind}: the longest {what}")
                print("\n".join(f"{length:6}  {name}" for length, name in reversed(lengths[-n_longest:])))


if __name__ == "__main__":
    main()
