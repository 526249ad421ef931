"""Laws of keys whose fields allow only some values: two models are told apart, or share a key, for certain."""

from collections.abc import Mapping
from datetime import date
from functools import cache
from itertools import count
from typing import Annotated, Any

from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, StringConstraints, TypeAdapter, ValidationError

from dynamap_async import Attr, Model, PartitionKey, SortKey, Table, template
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.models import Definition, definition_of
from dynamap_async.models.sharing.key_shapes import KeyShapes, overlap_of
from dynamap_async.models.templates.automata import Automaton
from dynamap_async.models.templates.text_patterns import read_pattern, texts_between, whole_numbers

TEXTS = ["", "x", "A", "AB", "a-b", "x#y", "#", "x#L#1", "1", "07", "v1", "é", "x\n"]
NUMBERS = [-12, -1, 0, 1, 7, 9, 10, 99, 100]
DAYS = [date(2024, 2, 29), date(1999, 12, 1), date(2025, 1, 1)]
VALUES: dict[str, list[Any]] = {"a": TEXTS, "b": TEXTS, "n": NUMBERS, "m": NUMBERS, "day": DAYS}

TEXT_TYPES: list[Any] = [
    str,
    Annotated[str, StringConstraints(pattern="^[^#]+$")],
    Annotated[str, Field(pattern="^[A-Z]{1,2}$")],
    Annotated[str, Field(pattern=r"^[a-z]+(?:-[a-z]+)*$", max_length=4)],
    Annotated[str, Field(pattern=r"\d")],
    Annotated[str, Field(pattern=r"^v|^x\w*$")],
    Annotated[str, Field(min_length=1)],
    Annotated[str, Field(min_length=2, max_length=3)],
]
NUMBER_TYPES: list[Any] = [
    int,
    Annotated[int, Field(ge=1)],
    Annotated[int, Field(gt=0, lt=10)],
    Annotated[int, Field(ge=-12, le=9)],
    Annotated[int, Field(ge=10)],
    Annotated[int, Field(lt=0)],
]
DAY_TYPES: list[Any] = [date, Annotated[date, Field(ge=date(2024, 6, 1))], Annotated[date, Field(lt=date(2000, 1, 1))]]
TYPES: dict[str, list[Any]] = {"a": TEXT_TYPES, "b": TEXT_TYPES, "n": NUMBER_TYPES, "m": NUMBER_TYPES, "day": DAY_TYPES}
PKS = ["{b}", "{b}", "A{b}", "{n}"]
SKS = [
    "A{a}",
    "A{a}#L#{n}",
    "A{a}#{n}",
    "{a}",
    "v{n}",
    "v0",
    "v{m:+04d}",
    "{n:03d}",
    "{n}",
    "{a}#{n}",
    "{day}",
    "A{day}",
]
SKS += ["{b}", "{b}#{a}", "{n}#{a}", "A#{n}#{a}", "x{a}x", "1{a}", "AB", "{a}#L#{b}", "v{a}", "A{day}"]
PLACES = count()
FIELDS = st.tuples(*(st.integers(0, len(types) - 1) for types in TYPES.values()))
MODELS = st.tuples(st.sampled_from(PKS), st.sampled_from(SKS), FIELDS)
PARTS = st.lists(st.integers(0, 12), min_size=len(TYPES), max_size=len(TYPES))


@cache
def allowed(name: str, place: int) -> list[Any]:
    """Return the values that one of the types of a field allows."""
    adapter = TypeAdapter(TYPES[name][place])
    return [value for value in VALUES[name] if not isinstance(validated(adapter, value), ValidationError)]


def validated(adapter: TypeAdapter[Any], value: Any) -> Any:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        return error


@cache
def defined(pk: str, sk: str, places: tuple[int, ...]) -> Definition[Any]:
    """Return a model in a table of its own, so that nothing refuses it."""
    name = f"M{next(PLACES)}"
    types = {each: types[place] for (each, types), place in zip(TYPES.items(), places, strict=True)}
    annotations = {**{each: Attr[kind] for each, kind in types.items()}, "pk": PartitionKey[str], "sk": SortKey[str]}
    namespace = {"__module__": __name__, "__qualname__": name, "__annotations__": annotations}
    table = Table("things", partition_key="pk", sort_key="sk", discriminator=None)
    return definition_of(
        type(Model)(name, (Model,), {**namespace, "pk": template(pk), "sk": template(sk)}, table=table)
    )


def shapes(definition: Definition[Any]) -> KeyShapes:
    assert definition.kinds is not None
    return definition.kinds.shapes


def makes(definition: Definition[Any], key: Mapping[str, str]) -> bool:
    """Return whether some item of a model has a key: by its templates and by what Pydantic says of the parts."""
    values: dict[str, Any] = {}
    for name in ("pk", "sk"):
        made_by = definition.fields[name].template
        assert made_by is not None
        try:
            found = made_by.parse(key[name])
        except DecodeError:
            return False
        if any(part in values and values[part] != value for part, value in found.items()):
            return False
        values |= found
    for part, value in values.items():
        info = definition.model.__pydantic_fields__[part]
        adapter: TypeAdapter[Any] = TypeAdapter(Annotated[(info.annotation, *info.metadata)])
        if isinstance(validated(adapter, value), ValidationError):
            return False
    return all(definition.fields[name].template.build(values) == key[name] for name in key)  # type: ignore[union-attr] # it is asserted above


def key_of(model: tuple[str, str, tuple[int, ...]], parts: list[int]) -> dict[str, str] | None:
    """Return the key of an item of a model with some of the values that it allows; None where they make none."""
    names = zip(TYPES, model[2], parts, strict=True)
    values = {name: (some := allowed(name, place))[number % len(some)] for name, place, number in names}
    try:
        item = defined(*model).model(**values)
    except (EncodeError, ValidationError):  # a part holds what separates it from the next, or does not fit
        return None
    return {"pk": item.pk, "sk": item.sk} if item.pk and item.sk else None


@given(MODELS, MODELS, st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=4))
@example(("{b}", "A{a}", (1, 0, 0, 0, 0)), ("{b}", "A{a}#L#{n}", (0, 0, 0, 0, 0)), [([0, 1, 2, 3, 0], [1, 1, 3, 3, 0])])
@example(("{b}", "v0", (0, 0, 0, 0, 0)), ("{b}", "v{n}", (0, 0, 1, 0, 0)), [([0, 1, 2, 3, 0], [1, 1, 3, 3, 0])])
@settings(deadline=None, max_examples=200)
def test_models_that_are_told_apart_have_no_key_in_common_and_those_that_are_refused_have_the_one_that_is_shown(
    one: Any, other: Any, parts: list[tuple[list[int], list[int]]]
) -> None:
    models = [defined(*one), defined(*other)]
    overlap = overlap_of(shapes(models[0]), shapes(models[1]))
    if overlap is None:
        # A key that only what the fields allow keeps apart is the likeliest to be in common.
        nearly = overlap_of(shapes(models[0]).unlimited, shapes(models[1]).unlimited)
        event("told by what fields allow" if nearly is not None else "told by templates")
        keys = [] if nearly is None else [nearly.example]
        keys += [key_of(model, each) for both in parts for each, model in zip(both, (one, other), strict=True)]
        assert not [key for key in keys if key is not None and all(makes(model, key) for model in models)]
    elif overlap.example is not None:
        event("in common")
        assert all(makes(model, overlap.example) for model in models)
    else:
        event("neither proved nor refuted")


@given(MODELS, PARTS)
@settings(deadline=None, max_examples=150)
def test_a_model_takes_each_key_of_its_items_for_its_own_and_no_proof_leaves_one_out(
    model: Any, parts: list[int]
) -> None:
    key = key_of(model, parts)
    if key is not None:
        assert shapes(defined(*model)).hold({name: {"S": text} for name, text in key.items()})
        assert shapes(defined(*model)).unlimited.hold({name: {"S": text} for name, text in key.items()})
        for attribute in shapes(defined(*model)).attributes:
            described = [piece.described for piece in attribute.shape.pieces]
            assert reads(Automaton(described), key[attribute.name])


@given(MODELS, MODELS, st.lists(PARTS, min_size=1, max_size=4))
@settings(deadline=None, max_examples=150)
def test_every_key_of_a_model_whose_keys_are_within_anothers_is_one_of_the_other(
    one: Any, other: Any, parts: list[list[int]]
) -> None:
    within = shapes(defined(*one)).are_within(shapes(defined(*other)))
    event("within" if within else "not within")
    for key in (key_of(one, each) for each in parts if within):
        assert key is None or shapes(defined(*other)).hold({name: {"S": text} for name, text in key.items()})


ATOMS = [
    "a",
    "#",
    ".",
    r"\d",
    r"\w",
    r"\s",
    r"\S",
    r"\W",
    "[a-c#]",
    "[^#]",
    r"[^\d-]",
    r"[\w.-]",
    "(?:ab|c)",
    "(1|#)",
    r"\.",
]
TIMES = ["", "", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "+?"]
ATOM = st.tuples(st.sampled_from(ATOMS), st.sampled_from(TIMES)).map("".join)
CHOICE = st.tuples(st.sampled_from(["", "^"]), st.lists(ATOM, max_size=4).map("".join), st.sampled_from(["", "$"]))
REGEXES = st.lists(CHOICE.map("".join), min_size=1, max_size=2).map("|".join)
SUBJECTS = st.text(st.sampled_from("abc1#é-. \n_"), max_size=6)


@given(REGEXES, SUBJECTS, st.sampled_from(["rust-regex", "python-re"]))
@settings(max_examples=400)
def test_what_pydantic_finds_by_a_pattern_is_read_by_what_is_known_of_it(regex: str, text: str, engine: Any) -> None:
    class Searched(BaseModel):
        model_config = {"regex_engine": engine}
        text: str = Field(pattern=regex)

    known = read_pattern(regex)
    assert known is not None
    try:
        Searched(text=text)
    except ValidationError:
        return
    assert reads(Automaton([known]), text)


def reads(automaton: Automaton, text: str) -> bool:
    states = automaton.reached((0,))
    for character in text:
        states = automaton.after(states, character)
    return automaton.end in states


BOUND = st.none() | st.integers(-1200, 1200)


@given(BOUND, BOUND, st.integers(-1300, 1300))
def test_whole_numbers_of_a_range_are_read_and_no_others(low: int | None, high: int | None, number: int) -> None:
    is_within = (low is None or low <= number) and (high is None or number <= high)
    assert reads(Automaton([whole_numbers(low, high)]), str(number)) is is_within
    assert not reads(Automaton([whole_numbers(low, high)]), f"0{number}")


@given(*(st.none() | st.text("0123456789", min_size=3, max_size=3),) * 2, st.text("0123456789", min_size=3, max_size=3))
def test_texts_of_one_width_in_a_range_are_read_and_no_others(low: str | None, high: str | None, text: str) -> None:
    is_within = (low is None or low <= text) and (high is None or text <= high)
    assert reads(Automaton([texts_between(low, high, ["0123456789"] * 3)]), text) is is_within
