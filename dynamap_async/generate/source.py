"""The text of a design: one module of models. The same design gives the same text."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from dynamap_async.config import Throughput
from dynamap_async.generate.field_types import MILLISECONDS, SECONDS, NestedDesign, is_nullable, is_secret
from dynamap_async.generate.names import PUBLIC, constant_name, field_name
from dynamap_async.generate.table_design import FieldDesign, ModelDesign, TableDesign
from dynamap_async.schema import (
    Encryption,
    IndexKind,
    IndexSchema,
    OnDemand,
    Projection,
    Recovery,
    TableSettings,
)
from dynamap_async.source_text import comment, docstring, literal

_WIDTH: Final = 118
_FORMS: Final = {
    SECONDS: ("ISO 8601, seconds", "seconds"),
    MILLISECONDS: ("ISO 8601, milliseconds", "milliseconds"),
}
HOMES: Final = (
    ("datetime", ("UTC", "date", "datetime")),
    ("decimal", ("Decimal",)),
    ("typing", ("Annotated", "Any", "Literal")),
    ("uuid", ("UUID",)),
)
"""Module of the standard library -> what a generated module may import from it."""
OTHER_HOMES: Final = (("pydantic", ("Field",)), ("typing_extensions", ("NotRequired", "TypedDict")))
"""Other modules -> what a generated module may import from them, besides this library."""


def source_of(design: TableDesign, *, values: bool, enums: bool) -> str:
    """Return the module of a design, as text.

    Args:
        values: whether comments may show values.
        enums: whether attributes of a few values become a ``Literal``.
    """
    parts = [
        *form_texts(design),
        *table_texts(design),
        *("\n".join(nested_lines(each)) for each in design.nested),
        *("\n".join(model_lines(design, each, values=values, enums=enums)) for each in design.models),
    ]
    body = "\n\n\n".join(parts)
    return parsed(f"{_head(design)}\n\n{_imports(body)}\n\n\n{body}\n\n\n{_accesses(design)}\n")


def parsed(text: str) -> str:
    """Return the text of a module, checked to be valid Python."""
    ast.parse(text)
    return text


def _head(design: TableDesign) -> str:
    sampled = f"all {design.sampled:,}" if design.complete else f"a sample of {design.sampled:,}"
    return docstring(
        f"Models of the table {design.schema.name}, made from {sampled} of its items.",
        "",
        "A line with `check:` says what the sample leaves in doubt. Delete it once you know.",
    )


def _imports(body: str) -> str:
    # Names of the syntax tree, not of the text: comments and docstrings name things too.
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    standard, other = (
        [
            f"from {module} import {', '.join(name for name in names if name in used)}"
            for module, names in homes
            if used.intersection(names)
        ]
        for homes in (HOMES, OTHER_HOMES)
    )
    ours = [name for name in PUBLIC if name in used]
    line = f"from dynamap_async import {', '.join(ours)}"
    if len(line) > _WIDTH:
        line = "from dynamap_async import (\n" + "".join(f"    {name},\n" for name in ours) + ")"
    return "\n\n".join("\n".join(group) for group in (standard, [line, *other]) if group)


def form_texts(design: TableDesign) -> Iterator[str]:
    """Return the stored forms that the module defines itself, each as an assignment.

    Args:
        design: the table, whose fields say which forms are used.
    """
    used = {field.guessed.stored_as for model in design.models for field in model.fields}
    for name, (label, unit) in _FORMS.items():
        if name in used:
            yield (
                f"{name} = StoredForm(\n"
                f'    name="{label}",\n'
                '    tag="S",\n'
                f'    encode=lambda at: at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="{unit}") + "Z",\n'
                "    decode=datetime.fromisoformat,\n"
                ")"
            )


def table_texts(design: TableDesign) -> Iterator[str]:
    """Return the ``Table`` of a table with kinds; nothing for a table of one model."""
    if not design.is_shared:
        return
    lines = [comment(f"check: {each}") for each in design.checks]
    schema = design.schema
    lines.append(f"{constant_name(schema.name)} = Table(")
    lines.append(f"    {literal(schema.name)},")
    lines.append(f"    partition_key={literal(schema.keys.names[0])},")
    if schema.keys.sort:
        lines.append(f"    sort_key={literal(schema.keys.names[1])},")
    if schema.indexes:
        lines.append("    indexes=(")
        for each in schema.indexes:
            lines += [f"        {line}" for line in _wrapped(_index(each, {}), 8)]
            lines[-1] += ","
        lines.append("    ),")
    # Table takes keys without a type for text.
    types = {name: tag for name, tag in schema.attribute_types.items() if tag != "S"}
    if types:
        lines.append(f"    types={{{', '.join(f'{literal(name)}: {literal(tag)}' for name, tag in types.items())}}},")
    lines.append(f"    discriminator={told_by(design)},")
    if schema.ttl_attribute is not None:
        lines.append(f"    time_to_live={literal(schema.ttl_attribute)},")
    if schema.throughput is not None:
        lines.append(f"    throughput={_throughput(schema.throughput)},")
    lines += [f"    {line}" for line in _settings(schema.settings)]
    yield "\n".join([*lines, ")"])


def told_by(design: TableDesign) -> str:
    """Return the arguments of ``Table`` that say how its models are told apart."""
    told = "None" if design.discriminator is None else literal(design.discriminator)
    return f"Prefix({told})" if design.is_prefix else told


def _wrapped(call: Sequence[str], indent: int) -> list[str]:
    """Return a call, on several lines if it is long.

    Args:
        indent: the spaces that will stand before it.
    """
    name, *given = call
    line = f"{name}({', '.join(given)})"
    return [line] if len(line) + indent <= _WIDTH else [f"{name}(", *(f"    {each}," for each in given), ")"]


def _index(index: IndexSchema, names: dict[str, str]) -> list[str]:
    """Return the declaration of an index: the class, and its arguments.

    Args:
        names: stored name -> name of the field, where the index belongs to a model.
    """

    def key(attributes: Sequence[str]) -> str:
        quoted = [literal(names.get(each, each)) for each in attributes]
        return quoted[0] if len(quoted) == 1 else f"({', '.join(quoted)})"

    given = [literal(index.name)]
    is_global = index.kind is IndexKind.GLOBAL
    if is_global:
        given.append(f"partition_key={key([each.name for each in index.keys.partition])}")
    if index.keys.sort:
        given.append(f"sort_key={key([each.name for each in index.keys.sort])}")
    if index.projection.type != "ALL":
        given.append(f"projection={_projection(index.projection, names)}")
    if is_global and index.throughput is not None:
        given.append(f"throughput={_throughput(index.throughput)}")
    return ["GlobalIndex" if is_global else "LocalIndex", *given]


def _projection(projection: Projection, names: dict[str, str]) -> str:
    if projection.type == "KEYS_ONLY":
        return "KEYS_ONLY"
    return f"include({', '.join(literal(names.get(each, each)) for each in projection.attributes)})"


def _throughput(throughput: Throughput) -> str:
    return f"Throughput(read={throughput.read}, write={throughput.write})"


def _settings(settings: TableSettings) -> list[str]:
    """Return a table's settings as an argument with a comma behind; nothing if it has none."""
    given = [f"{name}={_setting(value)}" for name, value in settings.declared().items()]
    if not given:
        return []
    lines = _wrapped(("settings=TableSettings", *given), 5)
    return [*lines[:-1], f"{lines[-1]},"]


def _setting(value: Any) -> str:
    """Return the code of a setting."""
    match value:
        case OnDemand(max_read=read, max_write=write):
            maxima = {"max_read": read, "max_write": write}
            return f"OnDemand({', '.join(f'{name}={most}' for name, most in maxima.items() if most)})"
        case Recovery(days=days):
            return f"Recovery(days={days})"
        case Encryption(kms_key=str(key)):
            return f"Encryption(kms_key={literal(key)})"
        case str():
            return literal(value)
        case Mapping():
            tags = cast("Mapping[str, str]", value)
            return f"{{{', '.join(f'{literal(name)}: {literal(text)}' for name, text in sorted(tags.items()))}}}"
        case _:
            return repr(value)


def nested_lines(nested: NestedDesign) -> Iterator[str]:
    """Return the lines of the class of a map."""
    if nested.is_model:
        yield f"class {nested.name}(Model{', absent_when_none=True' if nested.absent_when_none else ''}):"
        taken: set[str] = set()
        for attribute, (kind, always) in nested.members.items():
            name = field_name(attribute, taken)
            taken.add(name)
            given = [] if name == attribute else [f"name={literal(attribute)}"]
            given += ["default=None"] if is_nullable(kind) or not always else []
            value = f" = attr({', '.join(given)})" if given else ""
            yield f"    {name}: Attr[{kind if always else f'{kind} | None'}]{value}"
        return
    members = {name: kind if always else f"NotRequired[{kind}]" for name, (kind, always) in nested.members.items()}
    # Other names cannot be written in the body of a class.
    if all(name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_") for name in members):
        yield f"class {nested.name}(TypedDict):"
        for name, kind in members.items():
            yield f"    {name}: {kind}"
        return
    yield f"{nested.name} = TypedDict("
    yield f"    {literal(nested.name)},"
    yield "    {"
    for name, kind in members.items():
        yield f"        {literal(name)}: {kind},"
    yield "    },"
    yield ")"


def model_lines(design: TableDesign, model: ModelDesign, *, values: bool, enums: bool) -> Iterator[str]:
    """Return the lines of a model."""
    schema = design.schema
    for check in (*(() if design.is_shared else design.checks), *model.checks):
        yield comment(f"check: {check}")
    if not design.is_shared:
        given = ["Model,", f"table={literal(schema.name)},"]
        if schema.throughput is not None:
            given.append(f"throughput={_throughput(schema.throughput)},")
        given += _settings(schema.settings)
        given += [f"schema_version={model.schema_version},"] if model.schema_version is not None else []
        line = f"class {model.name}({' '.join(given).removesuffix(',')}):"
        is_short = len(line) <= _WIDTH and not any(each.startswith(" ") for each in given)
        yield from (line,) if is_short else (f"class {model.name}(", *(f"    {each}" for each in given), "):")
    else:
        kind = "UNMARKED" if model.kind is None else literal(model.kind)
        told = "" if design.by_keys else f", kind={kind}"
        told += "" if model.schema_version is None else f", schema_version={model.schema_version}"
        yield f"class {model.name}(Model, table={constant_name(schema.name)}{told}):"
    keys = f"{'keys' if schema.keys.sort else 'key'} {', '.join(schema.keys.names)}"
    yield f"    {docstring(f'{model.count:,} of {design.sampled:,} sampled items; {keys}.')}"
    yield ""
    shared = schema.keys.names if design.is_shared else ()
    for field in model.fields:
        yield from (f"    {line}" for line in field_lines(field, values=values, enums=enums, named=shared))
    if not design.is_shared and schema.indexes:
        yield ""
        names = {field.attribute: field.name for field in model.fields if field.attribute is not None}
        taken = {field.name for field in model.fields}
        for index in schema.indexes:
            name = field_name(index.name, taken)
            taken.add(name)
            first, *given = _index(index, names)
            yield from (f"    {line}" for line in _wrapped((f"{name} = {first}", *given), 4))


def field_lines(field: FieldDesign, *, values: bool, enums: bool, named: Sequence[str]) -> Iterator[str]:
    """Return the lines of a field, comments first, without the indent of the class.

    Args:
        named: stored names that the table says itself.
    """
    guessed = field.guessed
    yield from (comment(f"check: {check}") for check in dict.fromkeys(field.checks))
    yield from map(comment, guessed.notes)
    if field.shapes:
        yield comment(f"check: no pattern explains these texts; digits as 9, letters as a: {', '.join(field.shapes)}")
    shown = ", ".join(map(literal, guessed.values)) if _may_show(field) else ""
    kind = f"Literal[{shown}]" if shown and enums else guessed.text
    if field.lacks and kind == "str":
        kind = f'Annotated[str, Field(pattern="^[^{field.lacks}]*$")]'
    if shown and values and not enums:
        yield comment(f"sampled: {shown}")
    is_set = kind.startswith("set[")
    # An empty set is stored by its absence, so absence reads as one.
    none = " | None" if field.optional and not is_set and kind != "Any" else ""
    given = [*_named(field, named)]
    if field.pattern is not None:
        value = f" = template({', '.join([*field.pattern.arguments, *given])})"
    else:
        given += _stored(field)
        if field.optional:
            given.append("default_factory=set" if is_set else "default=None")
        value = f" = attr({', '.join(given)})" if given else ""
    yield f"{field.name}: {field.role}[{kind}{none}]{value}"


def _may_show(field: FieldDesign) -> bool:
    return field.pattern is None and field.attribute is not None and not is_secret(field.attribute)


def _named(field: FieldDesign, named: Sequence[str]) -> Iterator[str]:
    """Return the argument with the stored name; nothing if it is the field's name, or the table says it."""
    if field.attribute is not None and field.name != field.attribute and field.attribute not in named:
        yield f"name={literal(field.attribute)}"


def _stored(field: FieldDesign) -> Iterator[str]:
    if field.guessed.stored_as is not None:
        yield f"stored_as={field.guessed.stored_as}"
    if field.attribute is None:
        yield "stored=False"


def _accesses(design: TableDesign) -> str:
    lines = ["# What the table and its indexes answer, one request for each:"]
    for index in (None, *design.schema.indexes):
        keys = design.schema.keys if index is None else index.keys
        for model in design.models:
            halves = [
                [name for key in half for name in _asked(model, key.name)] for half in (keys.partition, keys.sort)
            ]
            if not halves[0]:
                continue
            ordered = f", ordered by {', '.join(halves[1])}" if halves[1] else ""
            through = "" if index is None else f" (index {index.name})"
            lines.append(comment(f"- {model.name} by {', '.join(halves[0])}{ordered}{through}"))
    return "\n".join(lines)


def _asked(model: ModelDesign, attribute: str) -> Sequence[str]:
    field = model.field_of(attribute)
    if field is None:
        return ()
    if field.pattern is None:
        return (field.name,)
    return tuple(part.field for part in field.pattern.fields) or (field.name,)
