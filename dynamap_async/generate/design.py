"""The design of a table: its models, their fields and keys, as values. It is made of a sample alone, without I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from dynamap_async.dataclass import dataclass
from dynamap_async.generate.field_types import GuessedType, NestedClasses, guess_type
from dynamap_async.generate.item_kinds import STRONG, FoundKind, FoundKinds, find_kinds, text_of
from dynamap_async.generate.key_patterns import (
    FieldTexts,
    KeyPattern,
    KeyTexts,
    PatternPart,
    find_pattern,
    new_texts,
    template_of,
)
from dynamap_async.generate.names import class_name, field_name, text_shape, words_of
from dynamap_async.generate.sample import Sample
from dynamap_async.generate.source import source_of
from dynamap_async.generate.sparse_keys import with_condition
from dynamap_async.generate.table_design import FieldDesign, ModelDesign, TableDesign
from dynamap_async.models.sharing.key_shapes import AttributeShape, KeyShapes, overlap_of
from dynamap_async.models.templates import ANY_TEXT, Places, PlainNumber, TemplatePart, shape_of
from dynamap_async.models.templates.key_texts import FreeText, Piece
from dynamap_async.schema import KeySchema, TableSchema
from dynamap_async.wire import WireItem

_FEW_ITEMS: Final = 5
_ENOUGH_ITEMS: Final = 100
_SHAPES: Final = 3
_VERSION: Final = "schema_version"
"""Where this library stores the version of an item."""
_GENERIC: Final = frozenset(("pk", "sk", "gsi", "lsi", "key", "partition", "sort", "hash", "range", "index"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Design(TableDesign):
    """A table and its models, as ``infer`` returns them."""

    def source(self, *, values: bool = False, enums: bool = False) -> str:
        """Return the module of models as text: the same design gives the same text.

        Args:
            values: whether comments may show values of attributes that have only a few.
            enums: whether such attributes become a ``Literal``; a value that was not sampled is refused then.
        """
        return source_of(self, values=values, enums=enums)


def design_of(sample: Sample) -> Design:
    """Return the design of a table."""
    for by_middles in (True, False):
        found = find_kinds(sample, by_middles=by_middles)
        design = _designed(sample, found)
        told = _told_apart(design, found) if found.by_keys else design
        if told is not None:
            return told
    return _designed(sample, find_kinds(sample, by_keys=False))


def _designed(sample: Sample, found: FoundKinds) -> Design:
    names: list[str] = []
    for kind in found.kinds:
        names.append(class_name(kind.name, names))
    nested = NestedClasses(names)
    models: list[ModelDesign] = []
    for name, kind in zip(names, found.kinds, strict=True):
        models.append(_model(name, kind, found, sample, nested, models))
    return Design(
        schema=sample.schema,
        models=tuple(models),
        nested=tuple(nested.found),
        discriminator=found.discriminator,
        is_prefix=found.is_prefix,
        by_keys=found.by_keys,
        sampled=len(sample.items),
        complete=sample.complete,
        checks=found.checks,
    )


def _told_apart(design: Design, found: FoundKinds) -> Design | None:
    """Return the design with texts that lack a separator, where only this tells keys apart; None where nothing does."""
    keys, models = design.schema.keys, [*design.models]
    for one, two in combinations(range(len(models)), 2):
        if _have_keys_of_their_own(models[one], models[two], keys):
            continue
        told = [
            (number, limited)
            for number, other in ((one, two), (two, one))
            for limited in _limited(models[number], found.kinds[number].items, keys)
            if _have_keys_of_their_own(limited, models[other], keys)
        ]
        if not told:
            return None
        number, fewest = min(told, key=lambda each: sum(len(field.lacks) for field in each[1].fields))
        models[number] = fewest
    return replace(design, models=tuple(models))


def _have_keys_of_their_own(one: ModelDesign, other: ModelDesign, keys: KeySchema) -> bool:
    return overlap_of(_key_shapes(one, keys), _key_shapes(other, keys)) is None


def _limited(model: ModelDesign, items: Sequence[WireItem], keys: KeySchema) -> Iterator[ModelDesign]:
    """Yield a model with ever more texts of a key, from its end, that may not have a separator: none sampled has it."""
    for key in reversed(keys.names):
        field = model.field_of(key)
        if field is None or field.pattern is None:
            continue
        template = template_of(field.pattern)
        parsed = [template.parse(text_of(item, key) or "") for item in items]
        for separator in STRONG:
            limited = model
            for part in reversed(field.pattern.fields):
                is_free = (part.type, part.form) == ("str", "")
                if is_free and not any(separator in each[part.field] for each in parsed):
                    limited = _with_limit(limited, part.field, separator)
                    yield limited


def _with_limit(model: ModelDesign, name: str, separator: str) -> ModelDesign:
    doubt = f"no sampled text has {separator} in it: that tells these keys from others of the table"
    fields = (
        replace(each, lacks=each.lacks + separator, checks=(*each.checks, doubt))
        if each.name == name and separator not in each.lacks
        else each
        for each in model.fields
    )
    return replace(model, fields=tuple(fields))


def _key_shapes(model: ModelDesign, keys: KeySchema) -> KeyShapes:
    lacks = {field.name: field.lacks for field in model.fields}

    def limited(part: TemplatePart, piece: Places | PlainNumber | FreeText) -> Piece:
        return replace(piece, lacks=lacks[part.name]) if isinstance(piece, FreeText) else piece

    shapes: list[AttributeShape] = []
    for key in keys.attributes:
        field = model.field_of(key.name)
        if key.type != "S" or field is None:
            continue
        template = None if field.pattern is None else template_of(field.pattern)
        shapes.append(
            AttributeShape(
                key.name,
                ANY_TEXT if template is None else shape_of(template, limited=limited),
                template,
                limited=limited,
            )
        )
    return KeyShapes(tuple(shapes), frozenset())


def _model(
    name: str, kind: FoundKind, found: FoundKinds, sample: Sample, nested: NestedClasses, others: Sequence[ModelDesign]
) -> ModelDesign:
    hidden = {found.discriminator} if found.discriminator is not None and not found.is_prefix else set[str]()
    is_first = bool(kind.items) and all(item.get(_VERSION) == {"N": "1"} for item in kind.items)
    hidden |= {_VERSION} if is_first else set()
    fields = _plain_fields(kind, sample, nested, hidden, is_single=not found.by_keys and found.discriminator is None)
    made = _with_patterns(kind, sample, fields, frozenset())
    if found.discriminator is not None and not found.is_prefix:
        keys = sample.schema.keys.names
        # Two models of one table whose keys may be equal are refused when the module is imported.
        alike = [other.name for other in others if _are_alike(made, other.fields, keys)]
        if alike:
            patterns = {field.attribute: field.pattern for field in made}
            made = _with_patterns(kind, sample, fields, frozenset(keys[-1:]))
            made = tuple(
                replace(field, checks=(*field.checks, pattern.doubt_beside(alike)))
                if field.attribute == keys[-1] and (pattern := patterns[keys[-1]]) is not None
                else field
                for field in made
            )
    checks = list(kind.checks)
    if len(kind.items) < _FEW_ITEMS:
        checks.append(f"only {len(kind.items)} {'item' if len(kind.items) == 1 else 'items'} of this kind sampled")
    elif len(kind.items) < _ENOUGH_ITEMS and not sample.complete:
        checks.append("fewer than 100 items were sampled: what is required here may be absent in others")
    return ModelDesign(
        name=name,
        kind=kind.kind,
        count=len(kind.items),
        fields=made,
        schema_version=1 if is_first else None,
        checks=tuple(checks),
    )


def _plain_fields(
    kind: FoundKind, sample: Sample, nested: NestedClasses, hidden: set[str], *, is_single: bool
) -> dict[str, FieldDesign]:
    """Return stored name -> field before key patterns are applied, key fields first."""
    schema = sample.schema
    seen = dict.fromkeys(name for item in kind.items for name in item)
    declared = [*schema.attribute_types]
    if is_single:  # a model of its own declares the indexes, with fields for all that they name
        declared += [name for index in schema.indexes for name in index.projection.attributes]
    keys = [*schema.keys.names, *(name for name in declared if name in seen or is_single)]
    fields: dict[str, FieldDesign] = {}
    taken: set[str] = set()
    for attribute in dict.fromkeys([*keys, *sorted(seen)]):
        if attribute in hidden:
            continue
        name = field_name(attribute, taken)
        taken.add(name)
        fields[attribute] = _field(name, attribute, kind.items, schema, nested)
    return fields


def _field(
    name: str, attribute: str, items: Sequence[WireItem], schema: TableSchema, nested: NestedClasses
) -> FieldDesign:
    stored = [item[attribute] for item in items if attribute in item]
    values = [value for value in stored if "NULL" not in value]
    checks: list[str] = []
    tag = schema.attribute_types.get(attribute)
    if tag is not None and any(tag not in value for value in values):
        checks.append(f"some values are not stored as {tag}, as the key of an index is, and cannot be read")
        # An index that is added later leaves out the items whose value has another type than its key.
        values = [value for value in values if tag in value]
    guessed = guess_type(attribute, values, nested)
    if tag is not None and not values:
        guessed = replace(guessed, text={"S": "str", "N": "Decimal", "B": "bytes"}[tag])
    role = dict(zip(schema.keys.names, ("PartitionKey", "SortKey"), strict=False)).get(attribute, "Attr")
    if attribute == _VERSION and guessed.text == "int":
        checks.append("may be what schema_version= of this library stores: name it there, and write its upgrades")
    if len(values) < len(stored):
        checks.append(f"NULL in {len(stored) - len(values):,} of {len(stored):,}: a write leaves the attribute out")
    if attribute == schema.ttl_attribute and role == "Attr":
        role, guessed, doubts = _time_to_live(guessed)
        checks += doubts
    return FieldDesign(
        name=name,
        attribute=attribute,
        role=role,
        guessed=replace(guessed, checks=()),
        optional=len(values) < len(items) and role not in ("PartitionKey", "SortKey"),
        checks=(*guessed.checks, *checks),
    )


def _time_to_live(guessed: GuessedType) -> tuple[str, GuessedType, tuple[str, ...]]:
    if guessed.text == "datetime" and guessed.stored_as == "EPOCH_SECONDS":
        return "TimeToLive", replace(guessed, stored_as=None), ()
    if guessed.text == "int":
        return "TimeToLive", guessed, ("some numbers are not epoch seconds of this century: DynamoDB ignores them",)
    doubt = "the table's time to live, but not stored as whole seconds: DynamoDB ignores such values"
    return "Attr", guessed, (doubt,)


def _with_patterns(
    kind: FoundKind, sample: Sample, plain: Mapping[str, FieldDesign], without: frozenset[str]
) -> tuple[FieldDesign, ...]:
    """Return the fields, with the keys that are made of others; parts that only a key stores come first.

    Args:
        plain: stored name -> field.
        without: key attributes that stay as they are.
    """
    schema, fields, new = sample.schema, dict(plain), list[FieldDesign]()
    added: list[FieldTexts] = []
    parts: set[str] = set()
    for attribute in dict.fromkeys([*schema.keys.names, *schema.attribute_types]):
        if attribute not in fields or attribute in without or schema.attribute_types[attribute] != "S":
            continue
        key = _key_texts(attribute, kind, sample, fields, added, parts)
        pattern = None if key is None else find_pattern(key)
        if (
            key is None
            or pattern is None
            or not _is_wanted(attribute, pattern, schema)
            or _clashes(pattern, fields, parts)
        ):
            fields[attribute] = _unexplained(fields[attribute], key)
            continue
        if len(key.texts) < len(kind.items):
            pattern, doubts = with_condition(pattern, attribute, kind.items, fields)
            fields[attribute] = replace(fields[attribute], checks=(*fields[attribute].checks, *doubts))
            if pattern is None:
                continue
        for part in pattern.fields:
            parts.add(part.field)
            # A part that only the key stores becomes a field of its own, with stored=False.
            if part.is_new:
                field = _new_field(part)
                new.append(field)
                added.append(new_texts(pattern, part, key.texts))
            else:
                _retype(fields, part)
        fields[attribute] = _computed(fields[attribute], pattern)
    return (*new, *fields.values())


def _key_texts(
    attribute: str,
    kind: FoundKind,
    sample: Sample,
    fields: Mapping[str, FieldDesign],
    added: Sequence[FieldTexts],
    parts: set[str],
) -> KeyTexts | None:
    """Return the texts of a key attribute; None where it is a part itself, or not always text."""
    keys = sample.schema.keys.names
    items = [item for item in kind.items if attribute in item]
    texts = [text for item in items if (text := text_of(item, attribute)) is not None]
    if not texts or len(texts) < len(items) or fields[attribute].name in parts or "" in texts:
        return None
    # A key is made of what the item has besides; a copy for an index would explain it by itself.
    hidden = {attribute, *_copies(sample.schema), *(keys[1:] if attribute == keys[0] else ())}
    candidates = [
        candidate
        for name, field in fields.items()
        if name not in hidden and field.pattern is None
        if (candidate := _texts_of(field, name, items)) is not None
    ]
    if len(items) == len(kind.items):
        # A part that only the key stores is known of all items only if all of them have that key.
        candidates += added
    elif added:
        numbers = [number for number, item in enumerate(kind.items) if attribute in item]
        candidates += [replace(c, texts=tuple(c.texts[n] for n in numbers)) for c in added]
    return KeyTexts(
        attribute=attribute,
        texts=tuple(texts),
        partitions=tuple(str(item[keys[0]]) for item in items),
        word=kind.words.get(attribute, ""),
        end=kind.ends.get(attribute, ""),
        middles=kind.middles.get(attribute, ()),
        kind=kind.name,
        candidates=tuple(candidates),
        may_add=len(items) == len(kind.items),
        taken=frozenset({*(field.name for field in fields.values()), *(candidate.field for candidate in added)}),
    )


def _copies(schema: TableSchema) -> set[str]:
    """Return the attributes that, to judge by their names, exist for an index only."""
    return {name for name in schema.attribute_types if name not in schema.keys.names and _is_generic(name)}


def _texts_of(field: FieldDesign, attribute: str, items: Sequence[WireItem]) -> FieldTexts | None:
    """Return the values of a field, if every item has it; as a text or a number."""
    values = [item.get(attribute, {}) for item in items]
    for tag in ("S", "N"):
        texts = [str(content) for value in values for each, content in value.items() if each == tag]
        if len(texts) == len(items):
            guessed = field.guessed
            return FieldTexts(
                field=field.name,
                type=guessed.text,
                stored_as="EPOCH_SECONDS" if field.role == "TimeToLive" else guessed.stored_as,
                texts=tuple(texts),
                is_number=tag == "N",
            )
    return None


def _is_wanted(attribute: str, pattern: KeyPattern, schema: TableSchema) -> bool:
    """Return whether a pattern describes a key, and does not just repeat another attribute by chance."""
    if any(part.constant for part in pattern.parts) or len(pattern.fields) > 1:
        return attribute in schema.keys.names or not _is_plain(pattern) or _is_generic(attribute)
    return _is_generic(attribute)


def _is_plain(pattern: KeyPattern) -> bool:
    """Return whether a pattern is a constant and nothing else, as an ordinary attribute with one value would be."""
    return not pattern.fields


def _is_generic(attribute: str) -> bool:
    words = [word.rstrip("0123456789") for word in words_of(attribute)]
    return any(part in _GENERIC for word in words for part in (word, word[-2:], word[:3]))


def _unexplained(field: FieldDesign, key: KeyTexts | None) -> FieldDesign:
    if key is None or field.guessed.text != "str" or not any(each in text for text in key.texts for each in "#|"):
        return field
    shapes = tuple(dict.fromkeys(text_shape(text) for text in sorted(key.texts)))[:_SHAPES]
    return replace(field, shapes=shapes)


def _new_field(part: PatternPart) -> FieldDesign:
    return FieldDesign(name=part.field, attribute=None, role="Attr", guessed=GuessedType(text=part.type))


def _clashes(pattern: KeyPattern, fields: Mapping[str, FieldDesign], parts: set[str]) -> bool:
    """Return whether a part would need another type in this key than it has in another one."""
    types = {field.name: field.guessed.text for field in fields.values() if field.name in parts}
    return any(types.get(part.field, part.type) != part.type for part in pattern.fields)


def _retype(fields: dict[str, FieldDesign], part: PatternPart) -> None:
    """Give a field the type that its part in a key needs."""
    for attribute, field in fields.items():
        if field.name == part.field and field.guessed.text != part.type:
            note = f"kept as {part.type}: a key holds it in this form"
            fields[attribute] = replace(
                field,
                guessed=replace(field.guessed, text=part.type, stored_as=None, notes=(*field.guessed.notes, note)),
            )


def _computed(field: FieldDesign, pattern: KeyPattern) -> FieldDesign:
    checks = (*field.checks, *pattern.checks)
    return replace(field, guessed=GuessedType(text="str"), pattern=replace(pattern, checks=()), checks=checks)


def _are_alike(one: Sequence[FieldDesign], other: Sequence[FieldDesign], keys: Sequence[str]) -> bool:
    """Return whether two models make keys from the same constants, so that one's item could replace the other's."""
    return all(_constants(one, key) == _constants(other, key) is not None for key in keys)


def _constants(fields: Sequence[FieldDesign], attribute: str) -> tuple[str, ...] | None:
    field = next((each for each in fields if each.attribute == attribute), None)
    if field is None or field.pattern is None:
        return None
    return tuple(part.constant for part in field.pattern.parts)
