# SPDX-License-Identifier: MIT
"""The mutants of C++ files: places in which one operator, constant, condition or statement is another one.

Clang's syntax trees say where expressions begin and end and of which types they are (Debian's python3-clang-14)."""
import dataclasses
import pathlib
import re
import sys

DEBIAN = "/usr/lib/python3/dist-packages"  # another interpreter than Debian's finds its packages here


@dataclasses.dataclass(frozen=True)
class Mutant:
    """`path` has `original` from byte `begin` on; a mutant has `mutated` there. `how` says what the rewritten file holds: "instead" of an
    expression another one, a "negated" condition, a "dropped" statement. `early`: the compiler may evaluate the code."""
    path: str
    line: int
    last_line: int
    begin: int
    end: int
    original: str
    mutated: str
    operator: str
    how: str
    early: bool

    def short(self):
        """What becomes what, on one line."""
        shown = [re.sub(r"\s+", " ", text) for text in (self.original, self.mutated)]
        return " -> ".join(text if len(text) <= 80 else text[:77] + "..." for text in shown)


RELATIONAL = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="]}
LOGICAL = {"&&": ["||"], "||": ["&&"]}
ARITHMETIC = {"+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["*"], "<<": [">>"], ">>": ["<<"], "&": ["|"], "|": ["&"]}
COMPOUND = {"+=": ["-="], "-=": ["+="], "*=": ["+="], "/=": ["*="], "|=": ["&="], "&=": ["|="]}
# Statements without which a program does the same: assertions, promises to the compiler, room that is taken ahead.
IDLE = re.compile(r"[A-Z_]+\(|__builtin_unreachable\b|[\w.\[\]>-]+(\.|->)(reserve|shrink_to_fit)\(")
EXTREMES = {"std::min": "std::max", "std::max": "std::min"}


def load_clang():
    """The module clang.cindex, or None where python3-clang is not installed."""
    try:
        import clang.cindex as cindex
    except ImportError:
        sys.path.append(DEBIAN)
        try:
            import clang.cindex as cindex
        except ImportError:
            return None
    return cindex


class Finder:
    def __init__(self, root, wanted):
        """Mutants of files below the folder `root` for whose path in it `wanted(path)` holds."""
        self.cindex = load_clang()
        self.kinds = self.cindex.CursorKind
        types = self.cindex.TypeKind
        self.integers = {types.CHAR_U, types.UCHAR, types.USHORT, types.UINT, types.ULONG, types.ULONGLONG, types.UINT128, types.CHAR_S,
                         types.SCHAR, types.SHORT, types.INT, types.LONG, types.LONGLONG, types.INT128}
        self.reals = {types.FLOAT, types.DOUBLE, types.LONGDOUBLE}
        self.root = pathlib.Path(root).resolve()
        self.wanted = wanted
        self.index = self.cindex.Index.create()
        self.done = set()
        self.found = {}

    def parse(self, file, arguments):
        """Adds the mutants of a translation unit, headers included, whose files are not done yet."""
        unit = self.index.parse(str(file), args=arguments)
        errors = [str(problem) for problem in unit.diagnostics if problem.severity >= self.cindex.Diagnostic.Error]
        if errors:
            raise ValueError(f"{file}: {errors[0]}")
        seen = set()
        for cursor in unit.cursor.get_children():
            path = self.path_of(cursor)
            if path is None or path in self.done:
                continue
            seen.add(path)
            self.path, self.text = path, (self.root / path).read_bytes()
            self.walk(cursor, early=False, in_switch=False)
        self.done |= seen

    def mutants(self):
        """All that were found, by path and place."""
        return sorted(self.found.values(), key=lambda mutant: (mutant.path, mutant.begin, -mutant.end, mutant.mutated))

    def path_of(self, cursor):
        if cursor.location.file is None:
            return None
        file = pathlib.Path(cursor.location.file.name).resolve()
        if not file.is_relative_to(self.root):
            return None
        path = str(file.relative_to(self.root))
        return path if self.wanted(path) else None

    def slice(self, begin, end):
        return self.text[begin:end].decode()

    def add(self, cursor, mutated, operator, how="instead", early=False):
        begin, end = cursor.extent.start, cursor.extent.end
        original = self.slice(begin.offset, end.offset)
        mutant = Mutant(self.path, begin.line, end.line, begin.offset, end.offset, original, mutated, operator, how, early)
        self.found[(self.path, begin.offset, end.offset, mutated, how)] = mutant

    def number(self, cursor):
        """"integer", "real", or nothing."""
        kind = cursor.type.get_canonical().kind
        return "integer" if kind in self.integers else "real" if kind in self.reals else ""

    def walk(self, cursor, early, in_switch):
        kinds = self.kinds
        try:
            kind = cursor.kind
        except ValueError:
            return
        if kind in (kinds.ENUM_DECL, kinds.STATIC_ASSERT, kinds.TEMPLATE_NON_TYPE_PARAMETER, kinds.CXX_UNARY_EXPR, kinds.DECL_REF_EXPR):
            if kind == kinds.DECL_REF_EXPR:
                self.named_constant(cursor, early)
            return
        children = list(cursor.get_children())
        name_at = cursor.location.offset
        before_name = self.slice(cursor.extent.start.offset, name_at)
        if kind in (kinds.VAR_DECL, kinds.FIELD_DECL, kinds.PARM_DECL):
            if "constexpr" in before_name or "constinit" in before_name:
                return
            children = [child for child in children if child.extent.start.offset >= name_at]
            early = early or kind != kinds.VAR_DECL
        elif kind in (kinds.FUNCTION_DECL, kinds.CXX_METHOD, kinds.CONSTRUCTOR, kinds.FUNCTION_TEMPLATE, kinds.CONVERSION_FUNCTION):
            if "consteval" in before_name:
                return
            early = "constexpr" in before_name
            in_switch = False
        elif kind == kinds.LAMBDA_EXPR:
            early = in_switch = False
        elif kind == kinds.MEMBER_REF_EXPR:
            children = children[:1]  # behind it are arguments of templates
        elif kind in (kinds.CASE_STMT,):
            children = children[1:]
        elif kind == kinds.IF_STMT:
            if re.match(r"if\s+constexpr\b", self.slice(cursor.extent.start.offset, cursor.extent.end.offset)):
                children = children[1:]
        elif kind in (kinds.WHILE_STMT, kinds.FOR_STMT, kinds.DO_STMT, kinds.CXX_FOR_RANGE_STMT):
            in_switch = False
        elif kind == kinds.SWITCH_STMT:
            in_switch = True
        self.mutate(cursor, kind, children, early, in_switch)
        for child in children:
            self.walk(child, early, in_switch)

    def mutate(self, cursor, kind, children, early, in_switch):
        """The mutants of this node itself."""
        kinds = self.kinds
        if kind == kinds.BINARY_OPERATOR and len(children) == 2:
            self.binary(cursor, children[0], children[1], early)
        elif kind == kinds.COMPOUND_ASSIGNMENT_OPERATOR and len(children) == 2:
            self.swap(cursor, children[0], children[1], COMPOUND, "assignment", early)
        elif kind in (kinds.CALL_EXPR, kinds.UNEXPOSED_EXPR) and len(children) in (2, 3):
            self.called_operator(cursor, children[0], children[-1], early)
        elif kind == kinds.UNARY_OPERATOR and len(children) == 1:
            self.unary(cursor, children[0], early)
        elif kind == kinds.INTEGER_LITERAL:
            text = self.slice(cursor.extent.start.offset, cursor.extent.end.offset)
            if re.fullmatch(r"[0-9][0-9a-fA-FxX']*[uUlLzZ]*", text):
                self.add(cursor, f"{text} + 1", "constant", early=early)
        elif kind == kinds.FLOATING_LITERAL:
            text = self.slice(cursor.extent.start.offset, cursor.extent.end.offset)
            if re.fullmatch(r"[0-9.][0-9a-fA-FxXpP'.+-]*[fFlL]?", text):
                self.add(cursor, f"{text} + 1" if re.fullmatch(r"0*\.?0*[fF]?", text) else f"{text} * 2", "constant", early=early)
        elif kind == kinds.CXX_BOOL_LITERAL_EXPR:
            text = self.slice(cursor.extent.start.offset, cursor.extent.end.offset)
            if text in ("true", "false"):
                self.add(cursor, "false" if text == "true" else "true", "constant", early=early)
        elif kind == kinds.COMPOUND_STMT:
            for child in children:
                self.statement(child, early, in_switch)
        elif kind in (kinds.IF_STMT, kinds.CONDITIONAL_OPERATOR):
            self.condition(cursor, kind, children, early)
        if kind == kinds.CALL_EXPR:
            text = self.slice(cursor.extent.start.offset, cursor.extent.end.offset)
            for extreme, other in EXTREMES.items():
                if text.startswith((extreme + "(", extreme + "<")):
                    self.add(cursor, other + text[len(extreme):], "extreme", early=early)

    def between(self, left, right):
        """The operator between two operands; empty where the text has none, as in macros."""
        text = self.slice(left.extent.end.offset, right.extent.start.offset)
        return text.strip() if len(text) < 200 else ""

    def swap(self, cursor, left, right, table, operator, early):
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        if left.extent.start.offset != begin or right.extent.end.offset != end:
            return
        for other in table.get(self.between(left, right), []):
            texts = [self.slice(side.extent.start.offset, side.extent.end.offset) for side in (left, right)]
            if other in ("&&", "&"):  # bind closer than what they replace
                texts = [f"({text})" for text in texts]
            self.add(cursor, f"{texts[0]} {other} {texts[1]}", operator, early=early)

    def binary(self, cursor, left, right, early):
        self.swap(cursor, left, right, RELATIONAL, "relational", early)
        self.swap(cursor, left, right, LOGICAL, "logical", early)
        if all(self.number(side) for side in (cursor, left, right)):
            self.swap(cursor, left, right, ARITHMETIC, "arithmetic", early)

    def called_operator(self, cursor, left, right, early):
        """An operator that is a function: of times, quantities, strings."""
        self.swap(cursor, left, right, RELATIONAL, "relational", early)
        if "string" not in cursor.type.get_canonical().spelling:
            self.swap(cursor, left, right, {sign: ARITHMETIC[sign] for sign in "+-"}, "arithmetic", early)
            self.swap(cursor, left, right, {sign: COMPOUND[sign] for sign in ("+=", "-=")}, "assignment", early)

    def unary(self, cursor, operand, early):
        text = self.slice(cursor.extent.start.offset, operand.extent.start.offset).strip()
        inner = self.slice(operand.extent.start.offset, operand.extent.end.offset)
        if text == "!":
            self.add(cursor, f"!!({inner})", "negation", early=early)
        elif text == "-" and self.number(cursor) and operand.kind not in (self.kinds.INTEGER_LITERAL, self.kinds.FLOATING_LITERAL):
            self.add(cursor, f"+{inner}", "arithmetic", early=early)

    def named_constant(self, cursor, early):
        """A use of a constant that has a name."""
        number, named = self.number(cursor), cursor.referenced
        text = self.slice(cursor.extent.start.offset, cursor.extent.end.offset)
        if not number or named is None or named.kind != self.kinds.VAR_DECL or not re.fullmatch(r"(\w+::)*k[A-Z]\w*", text):
            return
        self.add(cursor, f"{text} + 1" if number == "integer" else f"{text} * 2", "constant", early=early)

    def statement(self, cursor, early, in_switch):
        kinds = self.kinds
        text = self.slice(cursor.extent.start.offset, cursor.extent.end.offset)
        if cursor.kind not in (kinds.CALL_EXPR, kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR, kinds.UNARY_OPERATOR,
                               kinds.UNEXPOSED_EXPR, kinds.CONTINUE_STMT, kinds.BREAK_STMT):
            return
        if cursor.kind == kinds.BREAK_STMT and in_switch or text.startswith("throw") or IDLE.match(text) or self.never_returns(cursor):
            return
        if self.slice(cursor.extent.end.offset, cursor.extent.end.offset + 20).lstrip().startswith(";"):
            self.add(cursor, "", "dropped", how="dropped", early=early)

    def never_returns(self, cursor):
        """Whether this calls what always throws: a function that ends without it would not be defined."""
        called = cursor.referenced if cursor.kind == self.kinds.CALL_EXPR else None
        if cursor.kind == self.kinds.UNEXPOSED_EXPR:
            return any(map(self.never_returns, cursor.get_children()))
        if called is None or called.location.file is None:
            return False
        lines = pathlib.Path(called.location.file.name).read_text(errors="replace").splitlines()
        return any("[[noreturn]]" in line for line in lines[max(0, called.extent.start.line - 2):called.extent.start.line])

    def condition(self, cursor, kind, children, early):
        """A condition that is no comparison; those have mutants of their own."""
        conditions = [child for child in children if child.kind.is_expression()]
        if not conditions:
            return
        chosen = conditions[0]
        before = self.slice(cursor.extent.start.offset, chosen.extent.start.offset)
        after = self.slice(chosen.extent.end.offset, cursor.extent.end.offset)
        if kind == self.kinds.IF_STMT and not (re.fullmatch(r"if\s*\(([^;]*;)?\s*", before) and re.match(r"\s*\)", after)):
            return
        if kind == self.kinds.CONDITIONAL_OPERATOR and not (before == "" and re.match(r"\s*\?", after)):
            return
        text = self.slice(chosen.extent.start.offset, chosen.extent.end.offset)
        own = (chosen.extent.start.offset, chosen.extent.end.offset)
        inner = chosen
        while inner.kind == self.kinds.UNEXPOSED_EXPR and len(list(inner.get_children())) == 1:
            inner = next(iter(inner.get_children()))
        compared = inner.kind == self.kinds.BINARY_OPERATOR or text.startswith("!") or own == (0, 0)
        sides = list(inner.get_children())
        if not compared and len(sides) >= 2:
            compared = self.between(sides[0], sides[-1]) in RELATIONAL
        if not compared:
            self.add(chosen, f"!({text})", "negation", how="negated", early=early)
