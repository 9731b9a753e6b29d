"""Turns an example of the gallery into a notebook: text becomes Markdown cells, code becomes code cells."""

import ast
import json
import re
from pathlib import Path

CELL = re.compile(r"^# %%.*\n", re.MULTILINE)


def notebook_of(script: Path) -> str:
    """Return an example as the JSON of a notebook without outputs, the same for the same script.

    The markup of examples is what reStructuredText and Markdown nearly share: titles that are underlined,
    words in double backquotes and stars.
    """
    source = script.read_text(encoding="utf-8")
    docstring = ast.parse(source).body[0]
    text = ast.get_docstring(ast.parse(source)) or ""
    first, *others = CELL.split("\n".join(source.split("\n")[docstring.end_lineno :]))
    cells = [_cell("markdown", _markdown(text)), _cell("code", first)]
    for block in others:
        lines = block.split("\n")
        n_text = next((k for k, line in enumerate(lines) if not line.startswith("#")), len(lines))
        cells.append(_cell("markdown", _markdown("\n".join(line[2:] for line in lines[:n_text]))))
        cells.append(_cell("code", "\n".join(lines[n_text:])))
    shown = [{**cell, "id": f"cell-{k}"} for k, cell in enumerate(cell for cell in cells if cell["source"])]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": shown, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str) -> dict[str, object]:
    cell: dict[str, object] = {"cell_type": kind, "metadata": {}, "source": _lines(text.strip("\n"))}
    return cell | {"execution_count": None, "outputs": []} if kind == "code" else cell


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _markdown(text: str) -> str:
    """Return text with titles and words in code as Markdown has them."""
    text = re.sub(r"^(.+)\n=+$", r"# \1", text, flags=re.MULTILINE)
    text = re.sub(r"^(.+)\n-+$", r"## \1", text, flags=re.MULTILINE)
    return text.replace("``", "`")
