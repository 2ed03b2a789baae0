"""Writes memtool/_questions.pyi: each question's method with the options of its command as keywords. The
program's own tables have them, so that the package has to be there: CMake runs this when it was put together.

usage: stubs.py FOLDER OUTPUT     FOLDER: where the package is
"""
import ast
import inspect
import sys
import textwrap
from pathlib import Path

# By what the program calls a value; text is the rest.
TYPES = {"": "bool", "N": "int", "K": "int", "PID": "int", "WIDTH": "int", "F": "float", "FILE": "Path", "DIR": "Path",
         "SIZE": "Size", "AMOUNT": "Size", "NAME|SIZE": "Size", "SIZE|@FILE": "Size", "DEVICE": "Union[int, str]",
         "GPU": "Union[int, str]", "LIST": "Union[str, Sequence[str]]"}
GLUE = "\0"


def type_of(value, several):
    """The type of an option's value."""
    base = TYPES.get(value, "Union[str, Sequence[str]]" if "," in value else "str")
    several = several and not base.endswith("Sequence[str]]")
    return f"Union[{base}, Sequence[{base}]]" if several else base


def keyword_text(options, command, keyword):
    if keyword.name == options.ROWS:
        return f"{keyword.name}: int = 0"
    value, _, _, several = options.VOCABULARY[command][1][options.option_of(command, keyword.name)]
    kind = type_of(value, several)
    return f"{keyword.name}: {kind} = False" if not value else f"{keyword.name}: Optional[{kind}] = None"


def parameters(source, function):
    """-> the parameters that a method names itself, as they are written; whether a star stands among them"""
    args, defaults = function.args, function.args.defaults
    texts = [ast.get_source_segment(source, arg) for arg in args.args]
    for place, default in enumerate(defaults, len(texts) - len(defaults)):
        texts[place] += f" = {ast.get_source_segment(source, default)}"
    if args.vararg:
        texts.append(f"*{ast.get_source_segment(source, args.vararg)}")
    elif args.kwonlyargs:
        texts.append("*")
    for arg, default in zip(args.kwonlyargs, args.kw_defaults):
        texts.append(f"{ast.get_source_segment(source, arg)} = {ast.get_source_segment(source, default)}")
    return texts, bool(args.vararg or args.kwonlyargs)


def method_text(source, function, questions, options):
    method = getattr(questions.Questions, function.name)
    named, starred = parameters(source, function)
    own = {arg.arg for arg in (*function.args.args, function.args.vararg, *function.args.kwonlyargs) if arg}
    keywords = [keyword_text(options, function.name, one) for one in inspect.signature(method).parameters.values()
                if one.name not in own]
    texts = [*named, *([] if starred or not keywords else ["*"]), *keywords]
    # A line ends between parameters, not inside their types.
    line = f"def {function.name}({', '.join(text.replace(' ', GLUE) for text in texts)}){GLUE}->{GLUE}Answer:"
    head = textwrap.fill(line, 110, break_long_words=False, break_on_hyphens=False, initial_indent="    ",
                         subsequent_indent=" " * 8).replace(GLUE, " ")
    doc = method.__doc__.replace("\\", "\\\\").strip().replace("\n", "\n" + " " * 8).replace(" " * 8 + "\n", "\n")
    return f'{head}\n        """{doc}\n        """\n        ...\n'


def stub(questions, options):
    """-> the text of the stub"""
    source = Path(questions.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source)
    klass = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    methods = [method_text(source, node, questions, options) for node in klass.body
               if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return "\n".join([
        '# Made by stubs.py from _questions.py and the options of the program.',
        "import os",
        "from typing import Any, Optional, Sequence, Union",
        "",
        "from ._answer import Answer",
        "",
        'Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]',
        "Size = Union[int, str]",
        "",
        "class Questions:",
        f'    """{klass.body[0].value.value}"""',
        "    def _answer(self, command: str, *others: Any, **options: Any) -> Answer: ...",
        "    def _compare(self, base: Any, **options: Any) -> Answer: ...",
        "",
        *methods])


def main():
    folder, output = sys.argv[1:]
    sys.dont_write_bytecode = True
    sys.path.insert(0, folder)
    from memtool import _options, _questions
    Path(output).write_text(stub(_questions, _options), encoding="utf-8")


if __name__ == "__main__":
    main()
