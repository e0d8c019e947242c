# SPDX-License-Identifier: MIT
"""C++ files with mutants in them, one of which can be turned on at run time (mutants.h)."""
import pathlib

HEADER = pathlib.Path(__file__).resolve().parent / "mutants.h"


def guard(mutant, number):
    return f"::orrery::mutants::{'on_at_run_time' if mutant.early else 'on'}({number})"


def wrapped(mutant, number, text):
    """`text`, which is the original with other mutants in it, or what the mutant makes of it."""
    if mutant.how == "dropped":
        return f"if (!{guard(mutant, number)}) {text}"
    if mutant.how == "negated":
        return f"({guard(mutant, number)} != static_cast<bool>({text}))"
    return f"({guard(mutant, number)} ? ({mutant.mutated}) : ({text}))"


def rewritten(text, numbered):
    """The bytes of a file with these {number: mutant} in it: as many lines, the first of which includes mutants.h."""
    ordered = sorted(numbered.items(), key=lambda item: (item[1].begin, -item[1].end, item[1].how != "dropped", item[0]))

    def render(begin, end, mutants):
        parts, at = [], begin
        while mutants:
            number, outer = mutants[0]
            inside = [item for item in mutants[1:] if item[1].begin < outer.end]
            if any(item[1].end > outer.end for item in inside):
                raise ValueError(f"{outer.path}:{outer.line}: mutants overlap")
            parts += [text[at:outer.begin].decode(), wrapped(outer, number, render(outer.begin, outer.end, inside))]
            at, mutants = outer.end, mutants[1 + len(inside):]
        return "".join(parts) + text[at:end].decode()

    licence, rest = text.split(b"\n", 1)
    if any(mutant.begin <= len(licence) for mutant in numbered.values()):
        raise ValueError("a mutant on the first line, which is a comment")
    body = render(len(licence) + 1, len(licence) + 1 + len(rest), ordered)
    return f'#include "{HEADER}"\n{body}'.encode()
