#!/usr/bin/env python3
"""The notebook in examples/ runs, and what it shows is what its cells show.

usage: notebook.py --update     writes what the cells show now into the notebook (memtool must be importable)

A cell is run as a kernel does, in the folder of the notebook: what it prints, then what its last expression
is. Nothing of Jupyter is needed.
"""
import ast
import contextlib
import io
import json
import os
import sys
import unittest
import warnings
from pathlib import Path

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples/memory.ipynb"


def run_cell(source, names):
    """-> the outputs of a cell, as nbformat has them"""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    printed, shown = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)  # pylint: disable=exec-used
        if last is not None:
            shown = eval(compile(last, "cell", "eval"), names)  # pylint: disable=eval-used
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream",
                        "text": printed.getvalue().splitlines(keepends=True)})
    if shown is not None:
        outputs.append({"data": {"text/plain": repr(shown).splitlines(keepends=True)}, "metadata": {},
                        "output_type": "execute_result"})
        if hasattr(shown, "_repr_html_"):
            shown._repr_html_()  # what a browser shows instead
    return outputs


def run_cells(notebook):
    """-> each cell of code with its outputs"""
    names, before = {}, os.getcwd()
    os.chdir(NOTEBOOK.parent)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    yield cell, run_cell("".join(cell["source"]), names)
    finally:
        os.chdir(before)


class Notebook(unittest.TestCase):
    testdata = ""

    def test_cells_show_what_the_notebook_says(self):
        notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
        self.assertEqual(notebook["nbformat"], 4)
        count = 0
        for count, (cell, outputs) in enumerate(run_cells(notebook), 1):
            said = [{key: value for key, value in output.items() if key != "execution_count"}
                    for output in cell["outputs"]]
            self.assertEqual(said, outputs, f"cell {count}; tests/python/notebook.py --update writes it anew")
            self.assertEqual(cell["execution_count"], count)
        self.assertGreater(count, 5)
        ids = [cell["id"] for cell in notebook["cells"]]
        self.assertEqual(len(ids), len(set(ids)))


def update():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    for number, (cell, outputs) in enumerate(run_cells(notebook), 1):
        cell["execution_count"] = number
        cell["outputs"] = [{**output, "execution_count": number} if output["output_type"] == "execute_result"
                           else output for output in outputs]
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    update()
