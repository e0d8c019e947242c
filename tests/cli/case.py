# SPDX-License-Identifier: MIT
"""A case of docs/cases.md: a question, the commands that answer it, and a calculation by hand that the answer is held
against."""
import ast
import json
import operator
import re
import shlex
from dataclasses import dataclass

EXACT = 0  # tolerance: nothing but the rounding of single messages to picoseconds
ROUNDING = 1e-8  # relative; a message of a millisecond is rounded by 5e-10
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.Pow: operator.pow, ast.USub: operator.neg}
PLACE = re.compile(r"\{(\d?)([/~])([^}]*)\}")


@dataclass(frozen=True)
class Case:
    """`read` is arithmetic with places for numbers of what the commands print: {/a/b} by JSON pointer,
    {~regular expression} its first group in the text, {2/a/b} of the second command. `hand` is arithmetic alone.
    `tolerance` is in percent; what is not EXACT says why."""
    question: str
    commands: object  # the arguments of orrery, or a tuple of several
    read: str
    unit: str
    hand: str
    words: str
    tolerance: float = EXACT
    why: str = ""

    def command_lines(self):
        return (self.commands,) if isinstance(self.commands, str) else self.commands


@dataclass(frozen=True)
class Answer:
    """Of a case that could be evaluated."""
    case: Case
    orrery: float
    hand: float

    def difference(self):
        return self.orrery / self.hand - 1 if self.hand else self.orrery

    def holds(self):
        return abs(self.difference()) <= max(self.case.tolerance / 100, ROUNDING)


def evaluate(text):
    """Arithmetic with numbers, + - * / ** and parentheses; ValueError otherwise."""
    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.operand))
        raise ValueError(f"not arithmetic: {text}")
    return float(value(ast.parse(text, mode="eval").body))


def at(document, pointer):
    """The number at a JSON pointer; in a list of maps a word chooses the one with this class, name or member list."""
    for word in pointer.split("/"):
        if isinstance(document, list) and not word.isdigit():
            document = next(entry for entry in document if word in (entry.get("class"), entry.get("name")))
        else:
            document = document[int(word) if isinstance(document, list) else word]
    if not isinstance(document, (int, float)) or isinstance(document, bool):
        raise ValueError(f"{pointer} is no number")
    return document


def arguments_of(case, line):
    """Of a command line whose answer is read as JSON, with the options for that."""
    arguments = shlex.split(line)
    if any(kind == "/" for _, kind, _ in PLACE.findall(case.read)):
        arguments += ["--json", "-"] + (["--deterministic"] if arguments[0] == "run" else [])
    return arguments


def read_answer(case, outputs):
    """The number that a case asks for, from what its commands printed."""
    def number(place):
        which, kind, what = place.groups()
        text = outputs[int(which or 1) - 1]
        if kind == "/":
            return repr(float(at(json.loads(text), what)))
        found = re.search(what, text, re.M)
        if not found:
            raise ValueError(f"nothing printed matches {what}")
        return found.group(1)
    return evaluate(PLACE.sub(number, case.read))
