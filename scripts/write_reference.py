"""Writes the pages of docs/reference from what defines them: the options of the command (its --help), the keys of key=value lists (`dirigent help`),
the docstrings of the Python package, and the fields of `run.json` (the documentation of the Rust types that become it).

usage: write_reference.py [--check]     --check only says whether the pages are up to date
"""

import ast
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
WRITTEN = "<!-- written by scripts/write_reference.py; edit the source -->\n"
COMMANDS = ["fit", "predict", "cut", "update", "merge", "eval", "draws", "report", "info", "synth", "reproduce", "demo", "help", "completions", "man"]
ESTIMATOR = ROOT / "python" / "dirigent" / "_estimator.py"
CONSTRUCTOR = ROOT / "python" / "dirigent" / "_parameters.py"
# the fields of a model depend on its family; the others are written as one value
VALUES = {"Clusters": '`"auto"`, `"components"` or integer', "Model": "object"}
RUST = ROOT / "crates" / "dirigent" / "src"


# the command


def binary():
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    target = Path(json.loads(subprocess.check_output(command, cwd=ROOT))["target_directory"])
    program = target / "release" / "dirigent"
    if not program.exists():
        sys.exit(f"{program} is missing: run `make rust` first")
    return program


def printed(program, *words):
    environment = dict(os.environ, COLUMNS="1000", NO_COLOR="1")
    return subprocess.check_output([program, *words], text=True, env=environment)


def command_page(program):
    version = printed(program, "--version").split()[0]
    lines = [
        "# Command", WRITTEN,
        f"`{version} COMMAND`. Results go to standard output and messages to standard error. Exit codes: 0 success, 1 the run failed, 2 wrong usage or input, "
        "130 and 143 interrupted or terminated.", "",
        "`-h` prints the short help of a command, `--help` all of it.", "",
    ]  # fmt: skip
    for name in COMMANDS:
        lines += [f"## {name}", "", *help_as_markdown(printed(program, name, "--help"))]
    return "\n".join(lines)


def help_as_markdown(text):
    """Help of clap: paragraphs, `Usage:`, then headings with indented entries."""
    lines, rows, is_example = [], [], False
    head, _, rest = text.partition("Usage: ")
    lines += [escaped(paragraph) for part in head.strip().split("\n\n") for paragraph in ("\n".join(part.splitlines()), "")]
    usage, _, rest = rest.partition("\n")
    lines += ["```console", usage.strip(), "```", ""]
    for heading, body in re.findall(r"^(\S[^\n]*):\n(.*?)(?=^\S|\Z)", rest, re.MULTILINE | re.DOTALL):
        is_example = heading.startswith("Example")
        if is_example:
            lines += [f"**{heading}**", "", "```console", textwrap.dedent(body).strip("\n"), "```", ""]
            continue
        rows = [entry(part) for part in re.split(r"^(?=\s{2,6}[-<\[]\S)", body, flags=re.MULTILINE) if part.strip()]
        lines += [f"**{heading}**", "", "| option | meaning |", "|---|---|", *(f"| {name} | {meaning} |" for name, meaning in rows), ""]
    return lines


def entry(text):
    """An option and what is said of it, as cells."""
    first, _, rest = text.strip("\n").partition("\n")
    name, _, meaning = first.strip().partition("  ")
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", f"{meaning}\n{rest}")]
    words = ". ".join(part.rstrip(".") if part.startswith("[") is False and not part.endswith(("]", ":")) else part for part in parts if part)
    words = re.sub(r" \[possible values: ([^\]]*)\]", r" Values: \1.", words)
    words = re.sub(r" Possible values: - ", " Values: ", words).replace(" - ", "; ")
    words = re.sub(r"\.? \[default: (.*?)\]", r". Default: \1.", words)
    words = words.replace("..", ".")
    return f"`{name.strip()}`".replace("|", "\\|"), escaped(words)


def escaped(text):
    text = text.replace("|", "\\|").replace("*.", "\\*.").replace("docword*", "docword\\*")
    return re.sub(r"<(?=[\w/])", "&lt;", text)


def keys_page(program):
    titles = {"prior": "Priors", "method": "Method options", "engine": "Engine options"}
    lines = [
        "# Keys", WRITTEN,
        "Some options take lists of `key=value`. The keys are the same on the command line, in Python dictionaries and in `run.json`.", "",
    ]  # fmt: skip
    for topic, title in titles.items():
        text = printed(program, "help", topic)
        intro, *settings = text.strip().split("\n\n")
        ends = [part for part in settings if part.startswith("Example")]
        lines += [f"## {title}", "", escaped(intro), "", "| key | value | meaning | default | for |", "|---|---|---|---|---|"]
        for setting in settings:
            found = re.match(r"(\w+) \((.*)\)\n +(.*)\n +\S.*?: (.*)\n +default: (.*)$", setting)
            if found:
                key, value, meaning, users, default = map(escaped, found.groups())
                lines.append(f"| `{key}` | {value} | {meaning} | {default} | {users} |")
        lines += ["", "```console", *(line for part in ends for line in part.splitlines()), "```", ""]
    return "\n".join(lines)


# run.json


def rust_types():
    """Documented structs and enums by name: kind, what stands before, fields or variants."""
    types = {}
    for path in sorted(RUST.rglob("*.rs")):
        before, name, body = [], None, []
        for line in path.read_text(encoding="utf-8").splitlines():
            begun = re.match(r"pub(?:\(crate\))? (struct|enum) (\w+)[^;]*\{$", line)
            if begun:
                kind, name, body = begun[1], begun[2], []
            elif name is not None and line == "}":
                text, attributes = "\n".join([*body, ""]), "\n".join(before)
                types.setdefault(name, (kind, attributes, fields(text) if kind == "struct" else variants(text, attributes)))
                name, before = None, []
            elif name is not None:
                body.append(line)
            else:
                before = [*before, line] if line.startswith(("///", "#[")) else []
    return types


def fields(body):
    """Name, type and meaning of what is serialised."""
    found, meaning, is_skipped = [], [], False
    for line in body.splitlines():
        field = re.match(r" *pub (?:r#)?(\w+): (.*),$", line)
        if field:
            found += [] if is_skipped else [(field[1], field[2], " ".join(meaning))]
            meaning, is_skipped = [], False
        elif line.strip().startswith("///"):
            meaning.append(line.strip().removeprefix("///").strip())
        else:
            is_skipped |= "serde(skip)" in line
    return found


def variants(body, before):
    style = (re.search(r'rename_all = "(\w+)"', before) or [None, ""])[1]
    names = re.findall(r"^    (\w+)(?:,|\(|\{| \{|$)", body, re.MULTILINE)
    snake = {"snake_case": lambda name: re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(), "lowercase": str.lower}
    return [snake.get(style, str)(name) for name in names]


def shown_type(text, types):
    text = re.sub(r"&('\w+ )?(mut )?|'static |<'\w+>", "", text).strip()
    optional = re.fullmatch(r"Option<(.*)>", text)
    if optional:
        return f"{shown_type(optional[1], types)} or null"
    listed = re.fullmatch(r"(?:Vec<(.*)>|\[(.*?)(?:; \d+)?\])", text)
    if listed:
        return f"list of {shown_type(listed[1] or listed[2], types)}"
    if re.fullmatch(r"\(.*, .*\)", text):
        return "pair"
    if re.match(r"(BTreeMap|HashMap)", text):
        return "object"
    plain = {"f64": "number", "f32": "number", "bool": "boolean", "String": "string", "str": "string", "PathBuf": "string"}
    if re.fullmatch(r"[ui](8|16|32|64|size)", text):
        return "integer"
    if text in VALUES:
        return VALUES[text]
    kind, _, inside = types.get(text.split("<")[0], ("", "", []))
    if kind == "enum" and inside and all(re.fullmatch(r"[a-z_0-9]+", name) for name in inside):
        return ", ".join(f'`"{name}"`' for name in inside)
    return plain.get(text, "object" if kind == "struct" else "string" if text == "Kernel" else "value")


def inner_struct(text, types):
    name = re.findall(r"[A-Z]\w+", re.sub(r"\b(Option|Vec|Box)\b", "", text))
    found = types.get(name[0]) if name and name[0] not in VALUES else None
    return name[0] if found and found[0] == "struct" and found[2] else None


def run_json_page():
    types = rust_types()
    lines = [
        "# run.json", WRITTEN,
        "The record of a run: what was asked for, what was used, and the result. A fit writes it at the start and again at the end.", "",
    ]  # fmt: skip
    waiting, done = [("", "RunRecord")], set()
    while waiting:
        prefix, name = waiting.pop(0)
        if name in done:
            continue
        done.add(name)
        lines += [f"## `{prefix}`" if prefix else "## Top level", "", "| field | type | meaning |", "|---|---|---|"]
        for field, type_, meaning in types[name][2]:
            lines.append(f"| `{field}` | {shown_type(type_, types).replace('|', ' ')} | {escaped(meaning)} |")
            inner = inner_struct(type_, types)
            if inner:
                waiting.append((f"{prefix}.{field}".strip("."), inner))
        lines.append("")
    lines += ["The fields of `model` depend on the family: [The model file](../model-file.md).", ""]
    return "\n".join(lines)


# Python


def python_pages():
    tree = ast.parse(ESTIMATOR.read_text(encoding="utf-8"))
    estimator = next(node for node in tree.body if isinstance(node, ast.ClassDef) and ast.get_docstring(node) and "Parameters" in ast.get_docstring(node))
    name = estimator.name
    methods = [node for node in estimator.body if isinstance(node, ast.FunctionDef) and is_public_method(node)]
    pages = {f"{method.name}.md": method_page(name, method) for method in methods}
    return {"index.md": class_page(name, estimator, methods)} | pages


def is_public_method(node):
    decorators = [ast.unparse(one) for one in node.decorator_list]
    return not node.name.startswith("_") and "property" not in decorators and ast.get_docstring(node) is not None


def sections(docstring):
    """The text before the first heading, then heading to lines, as numpydoc has them."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", docstring, flags=re.MULTILINE)
    return parts[0].strip(), dict(zip(parts[1::2], (part.strip("\n") for part in parts[2::2]), strict=True))


def definitions(text):
    """`name : type` with an indented description."""
    found = []
    for line in text.splitlines():
        if line.strip() and not line.startswith(" "):
            name, _, type_ = line.partition(" : ")
            found.append((name.strip(), type_.strip(), []))
        elif line.strip() and found:
            found[-1][2].append(line.strip())
    return [(name, type_, " ".join(lines)) for name, type_, lines in found]


def definition_table(text, header="parameter"):
    rows = [f"| {header} | type | meaning |", "|---|---|---|"]
    for name, type_, meaning in definitions(text):
        names = ", ".join(f"`{one.strip()}`" for one in name.split(","))
        rows.append(f"| {names} | {markdown(type_)} | {markdown(meaning)} |")
    return [*rows, ""]


def markdown(text):
    """Plain text with code in backquotes, safe in a cell."""
    return "`".join(part if i % 2 else part.replace("<", "&lt;") for i, part in enumerate(text.split("`"))).replace("|", "\\|")


def parameters_of(constructor):
    """Name to default of the arguments of a function."""
    args = constructor.args
    positional = [*zip(args.args[len(args.args) - len(args.defaults) :], args.defaults, strict=True)]
    return [(arg.arg, ast.unparse(default)) for arg, default in [*positional, *zip(args.kwonlyargs, args.kw_defaults, strict=True)] if default]


def class_page(name, estimator, methods):
    text, parts = sections(ast.get_docstring(estimator))
    tree = ast.parse(CONSTRUCTOR.read_text(encoding="utf-8"))
    constructor = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    given = parameters_of(constructor)
    documented = [one.strip() for names, _, _ in definitions(parts["Parameters"]) for one in names.split(",")]
    missing = sorted({one for one, _ in given} ^ set(documented))
    if missing:
        sys.exit(f"{name}: parameters of the constructor and of the docstring differ: {', '.join(missing)}")
    n_positional = len(constructor.args.args) - 1
    words = [f"{parameter}={default}" for parameter, default in given]
    call = ",\n    ".join([*words[:n_positional], "*", *words[n_positional:]])
    lines = [f"# {name}", WRITTEN, "```py", f"dirigent.{name}(\n    {call},\n)", "```", "", markdown(text), ""]
    lines += ["## Parameters", "", *definition_table(parts["Parameters"])]
    lines += ["## Attributes", "", *definition_table(parts["Attributes"], "attribute")]
    lines += ["## Methods", "", "| method | meaning |", "|---|---|"]
    lines += [f"| [`{one.name}`]({one.name}.md) | {markdown(summary(one))} |" for one in methods]
    return "\n".join([*lines, ""])


def summary(method):
    first, _, _ = ast.get_docstring(method).partition("\n\n")
    return " ".join(first.split())


def method_page(class_name, method):
    text, parts = sections(ast.get_docstring(method))
    arguments = ast.parse(ast.unparse(method)).body[0].args
    for group in (arguments.posonlyargs, arguments.args, arguments.kwonlyargs):
        for argument in group:
            argument.annotation = None
    arguments.args = [one for one in arguments.args if one.arg not in ("self", "cls")]
    owner = class_name if any(ast.unparse(one) == "classmethod" for one in method.decorator_list) else "model"
    lines = [f"# {method.name}", WRITTEN, "```py", f"{owner}.{method.name}({ast.unparse(arguments)})", "```", "", markdown(text), ""]
    for title, part in parts.items():
        if title in ("Parameters", "Raises"):
            lines += [f"## {title}", "", *definition_table(part, "parameter" if title == "Parameters" else "exception")]
        elif title == "Examples":
            lines += [f"## {title}", "", "```py", part.replace(">>> ", "").replace("... ", ""), "```", ""]
        else:
            lines += [f"## {title}", "", markdown(" ".join(part.split())), ""]
    return "\n".join([*lines, f"See also: [{class_name}](index.md).", ""])


def main():
    program = binary()
    pages = {"command.md": command_page(program), "keys.md": keys_page(program), "run-json.md": run_json_page()}
    pages |= {f"python/{name}": text for name, text in python_pages().items()}
    pages = {PAGES / name: re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n" for name, text in pages.items()}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    gone = sorted(set(PAGES.rglob("*.md")) - set(pages))
    if sys.argv[1:] == ["--check"]:
        if stale or gone:
            names = ", ".join(str(path.relative_to(ROOT)) for path in [*stale, *gone])
            sys.exit(f"{names}: not what the source says: run scripts/write_reference.py")
        print(f"{len(pages)} pages of docs/reference are what the source says")
        return
    for path in gone:
        path.unlink()
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages[path], encoding="utf-8")
    print(f"{len(stale)} of {len(pages)} pages written, {len(gone)} removed")


if __name__ == "__main__":
    main()
