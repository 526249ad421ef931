"""Laws of kinds that are told by keys: no key of one model is taken for another's, whatever their templates are."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from itertools import count
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from dynamap_async import Attr, Model, PartitionKey, SortKey, Table, template
from dynamap_async.errors import EncodeError, ItemKindError, ModelDefinitionError
from dynamap_async.models import definition_of
from dynamap_async.models.templates import DeclaredTemplate, PatternError, common_text, make_template, shape_of


class Size(StrEnum):
    SMALL = "s"
    EXTRA = "xl"


TEXTS = ["", "x", "y#", "x1", "#", "1", "s", "v2", "x#y", "A", "m/x", "::"]
DAYS = [date(2024, 2, 29), date(1999, 12, 1)]
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "a": (str, TEXTS),
    "b": (str, TEXTS),
    "n": (int, [0, 1, 7, 12, 999]),
    "m": (int, [-20, 0, 3]),
    "price": (Decimal, [Decimal("1.5"), Decimal(-3), Decimal(0)]),
    "at": (datetime, [datetime(2024, 2, 29, 8, tzinfo=UTC)]),
    "day": (date, DAYS),
    "id": (UUID, [UUID(int=7), UUID(int=2**127)]),
    "size": (Size, list(Size)),
    "state": (Literal["on", "off"], ["on", "off"]),
}
SLOTS = ["{a}", "{b}", "{a:upper}", "{n}", "{n:03d}", "{m:+04d}", "{price:ordered}", "{price}", "{at}", "{at:day}"]
SLOTS += ["{day}", "{id}", "{size}", "{state}", "{n:03d}", "{a}", "{b}"]
CONSTANTS = ["", "", "#", "##", "A", "A#", "v", "x", "/", "::", "1"]
NUMBERS = count()


@st.composite
def patterns(draw: st.DrawFn) -> str:
    slots = draw(st.lists(st.sampled_from(SLOTS), max_size=3, unique_by=lambda slot: slot[1]))
    constants = draw(st.lists(st.sampled_from(CONSTANTS), min_size=len(slots) + 1, max_size=len(slots) + 1))
    text = constants[0] + "".join(slot + constant for slot, constant in zip(slots, constants[1:], strict=True))
    assume(text)
    return text


PATTERNS = patterns()


def made(pattern: str) -> Any:
    try:
        return make_template(DeclaredTemplate(pattern), {name: kind for name, (kind, _) in VALUES.items()})
    except PatternError:
        assume(False)
        raise


@st.composite
def values(draw: st.DrawFn) -> dict[str, Any]:
    return {name: draw(st.sampled_from(some)) for name, (_, some) in VALUES.items()}


@given(PATTERNS, values())
def test_a_shape_holds_every_key_that_its_template_makes(pattern: str, parts: dict[str, Any]) -> None:
    try:
        text = made(pattern).build(parts)
    except EncodeError:
        return
    assert shape_of(made(pattern)).holds(text)


@given(PATTERNS, PATTERNS, values(), values())
def test_a_common_text_is_held_by_both_shapes_and_found_where_two_keys_are_one(
    one: str, other: str, parts: dict[str, Any], others: dict[str, Any]
) -> None:
    first, second = shape_of(made(one)), shape_of(made(other))
    found = common_text(first, second)
    event("common" if found else "apart")
    if found is not None:
        assert found
        assert first.holds(found)
        assert second.holds(found)
        return
    for template_, values_, shape in ((made(one), parts, second), (made(other), others, first)):
        try:
            text = template_.build(values_)
        except EncodeError:
            continue
        assert text == "" or not shape.holds(text)


@dataclass(frozen=True)
class Design:
    """A table whose kinds are told by keys, and its models."""

    table: Table
    models: list[Any]


def defined(keys: list[tuple[str, str]], *, distinct: bool) -> Design:
    """Return the models of those templates that can be told from the ones before them, or all, declared distinct."""
    table = Table("things", partition_key="pk", sort_key="sk", discriminator=None)
    models: list[Any] = []
    for pk, sk in keys:
        annotations = {**{name: Attr[kind] for name, (kind, _) in VALUES.items()}}
        fields = {"pk": template(pk), "sk": template(sk)}
        names = {"__annotations__": {**annotations, "pk": PartitionKey[str], "sk": SortKey[str]}, **fields}
        name = f"M{next(NUMBERS)}"
        try:
            models.append(
                type(Model)(
                    name,
                    (Model,),
                    {"__module__": __name__, "__qualname__": name, **names},
                    table=table,
                    distinct_from=tuple(models) if distinct else (),
                )
            )
        except ModelDefinitionError as error:
            event("refused")
            assume("both could have the key" in str(error))
    return Design(table, models)


@given(
    st.lists(st.tuples(PATTERNS, PATTERNS), min_size=2, max_size=4),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 3), values()), min_size=1, max_size=8),
)
@settings(deadline=None, max_examples=60)
def test_derived_kinds_decode_every_item_to_the_kind_that_wrote_it(
    keys: list[tuple[str, str]], distinct: bool, written: list[tuple[int, dict[str, Any]]]
) -> None:
    for pk, sk in keys:
        made(pk)
        made(sk)
    design = defined(keys, distinct=distinct)
    for number, parts in written:
        model = design.models[number % len(design.models)]
        try:
            item = model(**parts)
            stored = definition_of(model).items.encode(item)
        except (EncodeError, ValueError) as error:
            event("refused by another kind" if "declared distinct" in str(error) else "not a key")
            continue
        assert [design.table.models[kind] for kind in design.table.kinds_of(stored)] == [model]
        for reader in design.models:
            if reader is model:
                [read] = definition_of(reader).items.decode([stored])
                assert read == item
                continue
            with pytest.raises(ItemKindError, match=model.__name__):
                definition_of(reader).items.decode([stored])
