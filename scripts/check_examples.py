"""Checks that every public struct, enum, trait, function and type of the library has an example in its own documentation that is run as a test.

usage: check_examples.py [MODULE ...]     only these modules of the crate

Public is what the documentation shows: the items of `pub mod`s and what these re-export, unless hidden. Files are formatted, so an item begins its line.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "crates" / "dirigent" / "src"
ITEM = re.compile(r"(pub )?(?:(?:const|async|unsafe) )*(struct|enum|union|trait|fn|type|mod) (\w+)(.*)")
RUN = {"", "rust", "should_panic"}


class Module:
    """What one file declares: submodules that are shown, items by name, and what it re-exports."""

    def __init__(self, file, path):
        self.file, self.path = file, path
        self.modules, self.items, self.uses = [], {}, []
        docs, attributes, lines = [], "", file.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            is_open = attributes.count("[") > attributes.count("]")
            if line.startswith("///"):
                docs.append(line[3:].strip())
            elif line.startswith("#[") or is_open:
                attributes += line.strip()
            elif not line.startswith("//"):
                is_shown = "#[cfg(test)]" not in attributes and "#[doc(hidden)]" not in attributes
                if line.startswith("pub use "):
                    statement = " ".join(lines[number - 1 :]).partition(";")[0]
                    self.uses += used(statement) if is_shown else []
                elif (match := ITEM.match(line)) and match[2] != "mod":
                    self.items[match[3]] = (bool(match[1]) and is_shown, (file, number, match[2], match[3], has_example(docs)))
                elif match and match[1] and is_shown:
                    if match[4] != ";":
                        sys.exit(f"{file}:{number}: a public module has a file of its own")
                    self.modules.append(match[3])
                docs, attributes = [], ""


def used(statement):
    """The paths and names of a `pub use`."""
    path, _, names = statement.removeprefix("pub use ").rpartition("::")
    return [(path.split("::"), name) for name in re.split(r"[\s,]+", names.strip("{}, "))]


def has_example(docs):
    fences = [line for line in docs if line.startswith("```")]
    return any(set(re.split(r"[ ,]+", fence[3:])) <= RUN for fence in fences[::2])


def module(path):
    """The module of a path of names, which begins at the crate."""
    plain = SOURCE.joinpath(*path) if path else SOURCE / "lib"
    file = plain.with_suffix(".rs") if plain.with_suffix(".rs").exists() else plain / "mod.rs"
    return Module(file, path)


def named(of, path):
    """The module that a path means which is written in another one."""
    here = list(of.path)
    for step in path:
        here = {"crate": [], "self": here, "super": here[:-1]}.get(step, [*here, step])
    return module(here)


def public(of):
    """Every public item of a module: where it is, what it is, whether it has an example."""
    yield from (item for is_public, item in of.items.values() if is_public)
    for name in of.modules:
        yield from public(module([*of.path, name]))
    for path, name in of.uses:
        yield from exported(named(of, path), name, of)


def exported(source, name, by):
    """An item that another module re-exports, from where it is declared; nothing for one that is hidden, or for a constant."""
    paths = [path for path, further in source.uses if further == name]
    if paths:
        return exported(named(source, paths[0]), name, by)
    if name not in source.items and not name.isupper():
        sys.exit(f"{by.file}: cannot follow the re-export of {name}")
    is_public, item = source.items.get(name, (False, None))
    return [item] if is_public else []


def main():
    crate = module([])
    unknown = set(sys.argv[1:]) - set(crate.modules)
    if unknown:
        sys.exit(f"there is no module {', '.join(sorted(unknown))}")
    roots = [module([name]) for name in sys.argv[1:]] or [crate]
    items = sorted({item for root in roots for item in public(root)})
    bare = [f"{file.relative_to(ROOT)}:{line}: {kind} {name}" for file, line, kind, name, has_one in items if not has_one]
    if bare:
        sys.exit("\n".join([*bare, f"{len(bare)} of {len(items)} public items have no example that is run"]))
    print(f"{len(items)} public items have an example each")


if __name__ == "__main__":
    main()
