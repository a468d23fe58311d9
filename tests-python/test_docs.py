"""The examples of docs/python.md, run as they are printed."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "python.md"
BLOCKS = re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_there_are_examples():
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize(("title", "code"), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_example(title, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, f"{PAGE.name}: {title}", "exec"), {"__name__": "example"})
