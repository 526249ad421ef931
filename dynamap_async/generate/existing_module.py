"""What a module of models declares, as far as its text says it. The module is parsed and never run."""

from __future__ import annotations

import ast
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from dynamap_async.dataclass import dataclass

_OURS: Final = "dynamap_async"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingField:
    """A field that a class declares."""

    name: str
    """Its name in Python."""
    role: str
    """``PartitionKey``, ``SortKey``, ``TimeToLive``, ``Attr``, or what else its annotation is called."""
    type: str
    """Its type as the annotation has it, in the form of ``ast.unparse``, without what ``Annotated`` adds to it."""
    pattern: str | None = None
    """That of its template; None without one, empty where the text does not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingTable:
    """A table that the module names."""

    constant: str | None
    """The name of the ``Table``; None for a table of one model."""
    name: str | None
    """The table's name; None where the text does not say it, because the ``Table`` is imported."""
    discriminator: str | None = None
    """The attribute that tells the models apart, if the text says it."""
    is_prefix: bool = False
    """Whether it begins with the kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingModel:
    """A class of the module with a table."""

    name: str
    table: ExistingTable
    kind: str | None
    """The text that tells its items; None for unmarked items, and where the module does not say it."""
    is_unmarked: bool
    """Whether it takes the items without a marker."""
    fields: Mapping[str, ExistingField]
    """Stored name -> field, those of the bases too."""
    names: Collection[str]
    """All names that the class has: fields, methods, indexes."""
    first_line: int
    """The line where it begins, with its decorators and the comments above; the module's first is 0."""
    field_line: int
    """The line before which another field stands."""
    end_line: int
    """The line below it."""
    indent: str
    """What stands before each line of its body."""
    problem: str | None = None
    """Why no field can be added to it; None where one can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingModule:
    """The text of a module, and what it declares."""

    lines: tuple[str, ...]
    """Its lines, each with its end."""
    names: Collection[str]
    """All names that it binds."""
    imported: Mapping[str, str]
    """Full name, such as ``datetime.date``, -> the name that it has here."""
    import_line: int
    """The line before which another import stands."""
    end_line: int
    """The line below the last statement."""
    tables: tuple[ExistingTable, ...]
    """Each ``Table`` that it makes."""
    models: tuple[ExistingModel, ...]
    """The classes that name a table, in their order."""
    definitions: Mapping[str, str]
    """Name -> statement that makes it, in the form of ``ast.unparse``."""


def read_module(text: str) -> ExistingModule:
    """Return what a module declares.

    Raises:
        ValueError: it is no Python.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise ValueError(
            f"the module does not parse{line} ({getattr(error, 'msg', error)}); correct it first"
        ) from error
    return _Reader(tree, tuple(io.StringIO(text, newline=""))).module()


class _Reader:
    """Reads one module; made for one call of ``read_module``."""

    def __init__(self, tree: ast.Module, lines: tuple[str, ...]) -> None:
        self._tree = tree
        self._lines = lines
        self._imported = {full: local for statement in tree.body for full, local in _imports(statement)}
        self._full = {local: full for full, local in self._imported.items()}
        self._classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
        self._texts = {
            name: value.value
            for name, value in _assigned(tree.body)
            if isinstance(value, ast.Constant) and isinstance(value.value, str)
        }
        self._tables = {
            name: table for name, value in _assigned(tree.body) if (table := self._table(name, value)) is not None
        }

    def module(self) -> ExistingModule:
        body = self._tree.body
        imports = [each.end_lineno or 0 for each in body if isinstance(each, ast.Import | ast.ImportFrom)]
        has_docstring = bool(body) and _is_text(body[0])
        models = [self._model(each) for each in self._classes.values()]
        return ExistingModule(
            lines=self._lines,
            names=frozenset(_bound(body)),
            imported=self._imported,
            import_line=max(imports) if imports else (body[0].end_lineno or 0) if has_docstring else 0,
            end_line=(body[-1].end_lineno or 0) if body else 0,
            tables=tuple(self._tables.values()),
            models=tuple(model for model in models if model is not None),
            definitions={name: ast.unparse(each) for each in body for name in _bound([each])},
        )

    def _full_name(self, node: ast.expr | None) -> str:
        """Return the full name of an expression, such as ``dynamap_async.Attr``."""
        written = "" if node is None else ast.unparse(node)
        first, dot, rest = written.partition(".")
        return f"{self._full.get(first, first)}{dot}{rest}"

    def _is_ours(self, node: ast.expr | None, name: str) -> bool:
        full = self._full_name(node)
        return full.startswith(f"{_OURS}.") and full.endswith(f".{name}")

    def _text(self, node: ast.expr | None) -> str | None:
        """Return the value of a text expression: a literal, or a constant of the module."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        return self._texts.get(node.id) if isinstance(node, ast.Name) else None

    def _pattern(self, call: ast.Call | None) -> str | None:
        if call is None or not self._is_ours(call.func, "template"):
            return None
        return self._text(next(iter(call.args), None)) or ""

    def _table(self, name: str, value: ast.expr) -> ExistingTable | None:
        if not (isinstance(value, ast.Call) and self._is_ours(value.func, "Table") and value.args):
            return None
        told = next((each.value for each in value.keywords if each.arg == "discriminator"), None) or ast.Constant(
            "kind"
        )
        is_prefix = isinstance(told, ast.Call) and self._is_ours(told.func, "Prefix")
        if is_prefix and isinstance(told, ast.Call):
            told = next(iter([*told.args, *(each.value for each in told.keywords)]), told)
        return ExistingTable(
            constant=name, name=self._text(value.args[0]), discriminator=self._text(told), is_prefix=is_prefix
        )

    def _model(self, node: ast.ClassDef) -> ExistingModel | None:
        """Return a class with a table; None for any other class, or an abstract one."""
        bases, problem = self._bases(node)
        given = {each.arg: each.value for each in node.keywords}
        named = next((each.value for base in reversed(bases) for each in base.keywords if each.arg == "table"), None)
        is_abstract = ast.unparse(given.get("abstract", ast.Constant(False))) != "False"
        if is_abstract or (named is None and "kind" not in given):
            return None
        table = ExistingTable(constant=None, name=None) if named is None else self._table_of(named)
        fields: dict[str, ExistingField] = {}
        for each in bases:
            found, unread = self._fields(each)
            fields |= found
            problem = problem or unread
        version = given.get("schema_attribute")
        if "schema_version" in given:
            attribute = "schema_version" if version is None else self._text(version)
            fields[attribute or ""] = ExistingField(name="", role="", type="")
        # Lines are added behind others, so that a body on the line of the class has no place for them.
        first = node.body[0]
        if first.lineno == node.lineno:
            problem = problem or "its body stands on the line of the class; write it below"
        kind = given.get("kind")
        return ExistingModel(
            name=node.name,
            table=table,
            kind=self._text(kind) if kind is not None or table.is_prefix else node.name,
            is_unmarked=self._is_ours(kind, "UNMARKED"),
            fields=fields,
            names=frozenset(name for each in bases for name in _bound(each.body)),
            first_line=self._first_line(node),
            field_line=_field_line(node),
            end_line=node.end_lineno or node.lineno,
            indent=self._lines[first.lineno - 1][: first.col_offset],
            problem=problem,
        )

    def _table_of(self, node: ast.expr) -> ExistingTable:
        text = self._text(node)
        if text is not None:
            return ExistingTable(constant=None, name=text)
        written = ast.unparse(node)
        return self._tables.get(written, ExistingTable(constant=written, name=None))

    def _bases(self, node: ast.ClassDef) -> tuple[list[ast.ClassDef], str | None]:
        """Return a class and its bases in this module, inner ones first, and what is unknown of other bases."""
        found: list[ast.ClassDef] = [node]
        problem = None
        for base in node.bases:
            own = self._classes.get(ast.unparse(base))
            if own is not None and own is not node:
                inner, unknown = self._bases(own)
                problem = problem or unknown
                found = [*inner, *found]
            elif not self._is_ours(base, "Model"):
                problem = f"its base {ast.unparse(base)} is not Model, nor in this module: it may have them already"
        return found, problem

    def _fields(self, node: ast.ClassDef) -> tuple[dict[str, ExistingField], str | None]:
        """Return stored name -> field of a class, and the names of fields that cannot be read."""
        found: dict[str, ExistingField] = {}
        problem = None
        for each in node.body:
            if not (isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)):
                continue
            name = each.target.id
            role, kind = self._annotation(each.annotation)
            if role == "ClassVar":
                continue
            call = each.value if isinstance(each.value, ast.Call) else None
            given = [] if call is None else call.keywords
            stored = next((argument.value for argument in given if argument.arg == "name"), None)
            attribute = name if stored is None else self._text(stored)
            if attribute is None:
                problem = f"the stored name of {name} is not written as a text"
                continue
            found[attribute] = ExistingField(name=name, role=role, type=kind, pattern=self._pattern(call))
        return found, problem

    def _annotation(self, node: ast.expr) -> tuple[str, str]:
        """Return the role and the type of an annotation."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            quoted = node.value
            try:
                node = ast.parse(quoted, mode="eval").body
            except SyntaxError:
                return "", quoted
        if not isinstance(node, ast.Subscript):
            return "", ast.unparse(node)
        role = self._full_name(node.value).rpartition(".")[2]
        inner = node.slice
        if role == "Annotated" and isinstance(inner, ast.Tuple):
            return self._annotation(inner.elts[0])
        if isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.Tuple):
            # What Annotated adds limits the values of the type.
            is_annotated = self._full_name(inner.value).rpartition(".")[2] == "Annotated"
            inner = inner.slice.elts[0] if is_annotated else inner
        text = self._text(inner) if isinstance(inner, ast.Constant) else None
        return role, ast.unparse(inner) if text is None else text

    def _first_line(self, node: ast.ClassDef) -> int:
        line = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
        while line and self._lines[line - 1].startswith("#"):
            line -= 1
        return line


def _imports(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield the names that an import binds: the full name, and the local name."""
    if isinstance(statement, ast.Import):
        for each in statement.names:
            local = each.asname or each.name.partition(".")[0]
            yield (each.name if each.asname else local), local
    elif isinstance(statement, ast.ImportFrom):
        for each in statement.names:
            yield f"{'.' * statement.level}{statement.module or ''}.{each.name}", each.asname or each.name


def _assigned(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement assigns, and the values."""
    for each in body:
        targets = (
            each.targets if isinstance(each, ast.Assign) else [each.target] if isinstance(each, ast.AnnAssign) else []
        )
        value = each.value if isinstance(each, ast.Assign | ast.AnnAssign) else None
        for target in targets:
            if isinstance(target, ast.Name) and value is not None:
                yield target.id, value


def _bound(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements bind, also inside of conditions."""
    for each in body:
        yield from (local for _, local in _imports(each))
        if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield each.name
        elif not isinstance(each, ast.Import | ast.ImportFrom):
            for node in ast.walk(each):
                if isinstance(node, ast.stmt) and node is not each:
                    yield from _bound([node])
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _field_line(node: ast.ClassDef) -> int:
    """Return the line behind the last field, or behind the docstring and whatever else the body begins with."""
    body = node.body
    last = max((at for at, each in enumerate(body) if isinstance(each, ast.AnnAssign)), default=0)
    while last + 1 < len(body) and (_is_text(body[last + 1]) or body[last + 1].lineno == body[last].end_lineno):
        last += 1
    return body[last].end_lineno or body[last].lineno
