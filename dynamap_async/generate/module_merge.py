"""A design merged into a module that exists: what the module lacks is added to its text, and nothing else changes."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from dynamap_async.dataclass import dataclass
from dynamap_async.generate.existing_module import ExistingModel, ExistingModule, ExistingTable, read_module
from dynamap_async.generate.field_types import NestedDesign
from dynamap_async.generate.names import PUBLIC, constant_name, field_name
from dynamap_async.generate.source import (
    HOMES,
    OTHER_HOMES,
    field_lines,
    form_texts,
    model_lines,
    nested_lines,
    parsed,
    table_texts,
    told_by,
)
from dynamap_async.generate.table_design import FieldDesign, ModelDesign, TableDesign
from dynamap_async.models.templates.pattern import PatternError, pieces_of

_SKIPPED: Final = re.compile(r'("(?:[^"\\]|\\.)*"|#.*)|\b([A-Za-z_]\w*)\b')
"""Strings and comments, which are kept, or else a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleMerge:
    """A module before and after the fields and kinds of a design that it lacked were added."""

    before: str
    """The text as it was."""
    after: str
    """The text with what was added; the same as before where nothing was lacking."""
    added: tuple[str, ...]
    """The classes that are new, and the fields, as ``Order.note``."""
    left: tuple[str, ...]
    """What was lacking and could not be added, each a sentence with the reason."""

    def patch(self, file: str) -> str:
        """Return the difference as a patch that ``patch -p1`` and ``git apply`` take; empty where there is none.

        Args:
            file: the path of the module, with ``/``, from where the patch will be applied.
        """
        end = "\t" if " " in file else ""  # so that both programs take the whole path
        old, new = (re.findall(r"[^\n]*\n|[^\n]+", each) for each in (self.before, self.after))
        lines = difflib.unified_diff(old, new, f"a/{file}{end}", f"b/{file}{end}")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def merge_models(
    design: TableDesign, module: str, *, table: str | None = None, values: bool = False, enums: bool = False
) -> ModuleMerge:
    """Return a module with the kinds and fields of a design that it lacks; all that it has stays as it is.

    Classes are known by their table and kind, fields by their stored names. The module is parsed and not run.

    Args:
        module: the text of the module.
        table: the table's name in the module; the design's unless given.
        values: whether comments may show values of attributes that have only a few.
        enums: whether such attributes become a ``Literal``.

    Raises:
        ValueError: the module does not parse, or tells the kinds of the table in another way than the design.
    """
    name = design.schema.name if table is None else table
    existing = read_module(module)
    return _Merging(replace(design, schema=replace(design.schema, name=name)), existing, values, enums).merged(module)


class _Merging:
    """Merges one design into one module; made for one call of ``merge_models``."""

    def __init__(self, design: TableDesign, module: ExistingModule, values: bool, enums: bool) -> None:
        self._design = design
        self._module = module
        self._values = values
        self._enums = enums
        self._table = _table_of(design, module)
        self._own = [each for each in module.models if self._table is not None and each.table == self._table]
        # Names of fields too: in the body of a class they hide what the module imports.
        self._taken = {*module.names, *(field.name for each in design.models for field in each.fields)}
        self._renamed: dict[str, str] = {}
        self._added: list[str] = []
        self._left: list[str] = []

    def merged(self, before: str) -> ModuleMerge:
        _check_kinds(self._design, self._table)
        new: list[ModelDesign] = []
        grown: list[tuple[ExistingModel, list[str]]] = []
        for model in self._design.models:
            existing = self._existing(model)
            if existing is None and self._may_be_new(model):
                new.append(self._importable(model))
            elif existing is not None and (lines := self._fields(model, existing)):
                grown.append((existing, lines))
        texts = ["\n".join(self._model_lines(each)) for each in new]
        if new and self._table is None:
            texts = [*table_texts(self._design), *texts]
        # Names are chosen before the texts are put together, since one text may use what another defines.
        self._rename_table()
        body = "\n".join([*texts, *(line for _, lines in grown for line in lines)])
        definitions = self._definitions(body)
        imports = self._imports("\n".join([*definitions, body]))
        # Parsed once more: a module that Python cannot read is an error here, and is never written.
        after = parsed(self._text(imports, definitions, grown, texts)) if self._added else before
        return ModuleMerge(before=before, after=after, added=tuple(self._added), left=tuple(self._left))

    def _existing(self, model: ModelDesign) -> ExistingModel | None:
        if not self._design.is_shared:
            return self._own[0] if self._own else None
        if self._design.by_keys:
            named = (each for each in self._own if each.name == model.name)
            return next(named, None) or next((e for e in self._own if self._may_make_the_same_keys(e, model)), None)
        if model.kind is None:
            return next((each for each in self._own if each.is_unmarked), None)
        same = (each for each in self._own if each.kind == model.kind)
        unread = (each for each in self._unread() if each.name == model.name)
        return next(same, None) or next(unread, None)

    def _unread(self) -> list[ExistingModel]:
        """Return the classes whose kind cannot be read from the text."""
        return [each for each in self._own if each.kind is None and not each.is_unmarked]

    def _may_be_new(self, model: ModelDesign) -> bool:
        """Return whether certainly no class of the module has the kind of a model."""
        unread = () if self._design.by_keys else self._unread()
        if unread:
            names = ", ".join(each.name for each in unread)
            self._left.append(f"the kind {model.kind!r} has no class, or is that of {names}: kind= is no text there")
        return not unread

    def _importable(self, model: ModelDesign) -> ModelDesign:
        """Return a new model; without the template of its last key if a class may make the same keys.

        Such a pair is refused when the class is made, and that error would be one of importing the module.
        """
        key = model.field_of(self._design.schema.keys.names[-1])
        alike = [each.name for each in self._own if self._may_make_the_same_keys(each, model)]
        if not alike or key is None or key.pattern is None:
            return model
        doubt = key.pattern.doubt_beside(alike)
        self._left.append(f"{model.name}.{key.name} is a plain key: {doubt}")
        plain = replace(key, pattern=None, checks=(*key.checks, doubt))
        others = [each for each in model.fields if each is not key]
        parts = {part.field for each in others if each.pattern is not None for part in each.pattern.fields}
        kept = (each for each in model.fields if each.attribute is not None or each.name in parts)
        return replace(model, fields=tuple(plain if each is key else each for each in kept))

    def _may_make_the_same_keys(self, existing: ExistingModel, model: ModelDesign) -> bool:
        """Return whether a class's keys have a new model's constants, or are not known."""
        if self._design.is_prefix:
            return False  # what keys begin with tells the kinds
        for attribute, role in zip(self._design.schema.keys.names, ("PartitionKey", "SortKey"), strict=False):
            field = model.field_of(attribute)
            written = next((each.pattern for each in existing.fields.values() if each.role == role), "")
            if field is None or field.pattern is None or written is None:
                return False
            if written and _constants(written) != _constants(field.pattern.text):
                return False
        return True

    def _fields(self, model: ModelDesign, existing: ExistingModel) -> list[str]:
        """Return the lines of the fields that a class lacks."""
        lacking = [
            field
            for field in model.fields
            if field.attribute is not None
            and field.attribute not in existing.fields
            and field.role not in ("PartitionKey", "SortKey")
        ]
        if lacking and existing.problem is not None:
            lacked = ", ".join(field.attribute for field in lacking if field.attribute is not None)
            self._left.append(f"{existing.name} lacks {lacked}: {existing.problem}")
            return []
        taken, names = set(existing.names), dict[str, str]()
        for field in lacking:
            name = field.name if field.name not in taken else field_name(field.attribute or field.name, taken)
            taken.add(name)
            names[field.name] = name
        self._taken |= taken
        known = self._known_parts(model, existing, {field.name for field in lacking}, names)
        has_time_to_live = any(each.role == "TimeToLive" for each in existing.fields.values())
        lines: list[str] = []
        for field in lacking:
            named = replace(_in_class(field, known), name=names[field.name])
            # A model has one time to live.
            if has_time_to_live and named.role == "TimeToLive":
                named = replace(named, role="Attr")
            self._added.append(f"{existing.name}.{named.name}")
            lines += field_lines(named, values=self._values, enums=self._enums, named=())
        return [f"{existing.indent}{line}" for line in lines]

    @staticmethod
    def _known_parts(
        model: ModelDesign, existing: ExistingModel, lacking: Collection[str], names: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the design's name of a field -> its name in the class, of fields that a template may use."""
        found = {name: names[name] for name in lacking}
        for field in model.fields:
            own = existing.fields.get(field.attribute or "")
            if own is not None and own.type == field.guessed.text:
                found[field.name] = own.name
        return found

    def _model_lines(self, model: ModelDesign) -> Iterator[str]:
        name = self._free(model.name)
        if name != model.name:
            self._left.append(f"{model.name} is another thing in the module, so the new model is called {name}")
        self._added.append(name)
        named = replace(model, name=name)
        return model_lines(self._design, named, values=self._values, enums=self._enums)

    def _rename_table(self) -> None:
        constant = constant_name(self._design.schema.name)
        if not self._design.is_shared:
            return
        known = None if self._table is None else self._table.constant
        self._renamed[constant] = known or self._free(constant)

    def _definitions(self, body: str) -> list[str]:
        """Return the stored forms and nested classes that a text uses and the module lacks, in order."""
        forms = {each.partition(" = ")[0]: each for each in form_texts(self._design)}
        nested = {each.name: each for each in self._design.nested}
        needed, waiting = set[str](), _names_in(body)
        while waiting:
            used = waiting & {*forms, *nested} - needed
            needed |= used
            waiting = {name for each in used if each in nested for name in _names_in(_nested_text(nested[each]))}
        texts: list[str] = []
        for name in [each for each in (*forms, *nested) if each in needed]:
            text = forms[name] if name in forms else _nested_text(nested[name])
            if self._module.definitions.get(name) == _unparsed(self._substituted(text)):
                continue
            self._renamed[name] = self._free(name)
            texts.append(text)
        return texts

    def _imports(self, text: str) -> list[str]:
        """Return the imports that a text needs, renamed where the module uses their names for something else."""
        homes = (*HOMES, ("dynamap_async", PUBLIC), *OTHER_HOMES)
        used = _names_in(text)
        lines: list[str] = []
        for module, names in homes:
            wanted: list[str] = []
            for name in (each for each in names if each in used):
                local = self._local(module, name)
                if local is None:
                    local = self._free(name)
                    wanted.append(name if local == name else f"{name} as {local}")
                if local != name:
                    self._renamed[name] = local
            if wanted:
                lines.append(f"from {module} import {', '.join(wanted)}")
        return lines

    def _local(self, module: str, name: str) -> str | None:
        """Return the name by which the module imports something already."""
        # A module may import the same name from where it is defined.
        homes = {"dynamap_async": ("dynamap_async.models",), "typing_extensions": ("typing",)}.get(module, ())
        found = (self._module.imported.get(f"{each}.{name}") for each in (module, *homes))
        return next((each for each in found if each is not None), None)

    def _free(self, name: str) -> str:
        """Return a name that nothing else in the module has, and reserve it."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _substituted(self, text: str) -> str:
        return _SKIPPED.sub(lambda found: found[1] or self._renamed.get(found[2], found[2]), text)

    def _text(
        self,
        imports: Sequence[str],
        definitions: Sequence[str],
        grown: Sequence[tuple[ExistingModel, list[str]]],
        texts: Sequence[str],
    ) -> str:
        """Return the module with each addition at its place."""
        module = self._module
        end = max((each.end_line for each in self._own), default=module.end_line)
        first = min((each.first_line for each, _ in grown), default=None)
        classes = texts if first is not None else [*definitions, *texts]
        added: list[tuple[int, list[str]]] = []
        if first is not None:
            added.append((first, [line for each in definitions for line in (*each.split("\n"), "", "")]))
        added += [(each.field_line, lines) for each, lines in grown]
        added.append((end, [line for each in classes for line in ("", "", *each.split("\n"))]))
        added = [(at, [self._substituted(line) for line in more]) for at, more in added]
        if imports:
            is_below_docstring = module.import_line > 0 and not module.imported
            added.insert(0, (module.import_line, [*([""] if is_below_docstring else ()), *imports]))
        lines, done = list[str](), 0
        # The line ends of the module, so that its diff shows the additions alone.
        newline = "\r\n" if module.lines and module.lines[0].endswith("\r\n") else "\n"
        for at, more in sorted(added, key=lambda each: each[0]):
            lines += module.lines[done:at]
            done = at
            if more and lines and not lines[-1].endswith(("\n", "\r")):
                lines[-1] += newline
            lines += [f"{line}{newline}" for line in more]
        return "".join([*lines, *module.lines[done:]])


def _table_of(design: TableDesign, module: ExistingModule) -> ExistingTable | None:
    """Return the module's table for a design; None if it has none."""
    name = design.schema.name
    tables = dict.fromkeys([*module.tables, *(each.table for each in module.models)])
    known = [each for each in tables if each.name == name]
    imported = [each for each in tables if each.name is None]
    if known or not imported:
        return known[0] if known else None
    if len(imported) == 1:
        return imported[0]
    return next((each for each in imported if each.constant == constant_name(name)), None)


def _check_kinds(design: TableDesign, table: ExistingTable | None) -> None:
    """Refuse a module whose classes tell kinds apart in another way than the design's models."""
    if table is None:
        return
    name = design.schema.name
    if not design.is_shared and table.constant is not None:
        raise ValueError(
            f"the sample of {name!r} has one kind of item, and nothing shows which of the module's models it belongs "
            "to; sample more items"
        )
    if design.is_shared and table.constant is None and table.name is not None:
        kind = "" if design.by_keys else ", and a kind"
        raise ValueError(
            f"the module has one model for {name!r}, but the sample has several kinds of item; give the model a Table "
            f"with discriminator={told_by(design)}{kind}"
        )
    told = (design.discriminator, design.is_prefix)
    if table.name is not None and table.constant is not None and (table.discriminator, table.is_prefix) != told:
        way = f"Prefix({design.discriminator!r})" if design.is_prefix else repr(design.discriminator)
        raise ValueError(
            f"{table.constant} does not tell kinds of item apart by {'their keys' if design.by_keys else way}, but the "
            f"sample does; give it discriminator={told_by(design)}, or add what is missing by hand after --check"
        )


def _in_class(field: FieldDesign, known: Mapping[str, str]) -> FieldDesign:
    """Return a field with its template in the names of a class; without the template if a part is missing."""
    pattern = field.pattern
    if pattern is None:
        return field
    if pattern.names <= known.keys():
        return replace(field, pattern=pattern.renamed(known))
    return replace(
        field,
        pattern=None,
        checks=(*field.checks, f"may be template({pattern.text!r}): the class has not all of its parts in these types"),
    )


def _constants(pattern: str) -> tuple[str | None, ...] | None:
    """Return the constants of a pattern, with None for each field; None if it is none."""
    try:
        return tuple(piece if isinstance(piece, str) else None for piece in pieces_of(pattern))
    except PatternError:
        return None


def _nested_text(nested: NestedDesign) -> str:
    return "\n".join(nested_lines(nested))


def _names_in(text: str) -> set[str]:
    return {found[2] for found in _SKIPPED.finditer(text) if found[2]}


def _unparsed(text: str) -> str:
    return ast.unparse(ast.parse(text))
