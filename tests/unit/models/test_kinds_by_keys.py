"""Kinds that are told by keys: what a table derives, what it refuses, and what it does where it does not know."""

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Len
from pydantic import AfterValidator, Field, StringConstraints

from dynamap_async import (
    BY_KEYS,
    UNMARKED,
    Attr,
    Model,
    PartitionKey,
    Prefix,
    Query,
    SortKey,
    Table,
    attr,
    template,
)
from dynamap_async.errors import EncodeError, ItemKindError, ItemValidationError, ModelDefinitionError
from dynamap_async.models import definition_of
from dynamap_async.planning import Context


class Part(StrEnum):
    """Values of a key."""

    META = "meta"
    LOG = "log"


def games(**more: Any) -> Table:
    """Return a table that no other test knows, without an attribute that tells kinds."""
    return Table("games", **{"partition_key": "pk", "sort_key": "sk", "discriminator": None, **more})


def keyed(table: Table, name: str, pk: Any, sk: Any, base: type[Model] = Model, **statement: Any) -> Any:
    """Return a model whose keys are made by templates, or are fields of their own where none is given."""
    types = {"id": Attr[str], "other": Attr[str], "number": Attr[int], "pk": PartitionKey[str], "sk": SortKey[str]}
    fields = {name: template(text) for name, text in (("pk", pk), ("sk", sk)) if isinstance(text, str)}
    types |= {name: kind for name, kind in (("pk", pk), ("sk", sk)) if not isinstance(kind, str)}
    types |= {each: Attr[kind] for each, kind in statement.pop("fields", {}).items()}
    namespace = {"__module__": __name__, "__qualname__": name, "__annotations__": types, **fields}
    return type(Model)(name, (base,), namespace, table=table, **statement)


def stored(model: Any, **values: Any) -> Any:
    return definition_of(model).items.encode(model(**{"id": "a", "other": "b", "number": 7, **values}))


def read(model: Any, *items: Any) -> list[Any]:
    return definition_of(model).items.decode(items)


TOLD: dict[str, list[tuple[Any, Any]]] = {
    "by the partition key": [("USER#{id}", "{other}"), ("GAME#{id}", "{other}")],
    "by the sort key": [("GAME#{id}", "META"), ("GAME#{id}", "USER#{other}"), ("GAME#{id}", "v{number}")],
    "by both together": [("A#{id}", "X"), ("A#{id}", "Y"), ("B#{id}", "X"), ("B#{id}", "Y")],
    "by the end of the key": [("{id}", "{other}#meta"), ("{id}", "{other}#item")],
    "by a constant against a value": [("{id}", "META"), ("{id}", "{number}")],
    "by the width of a number": [("{id}", "{number:06d}"), ("{id}", "{number:08d}")],
    "by how many parts there are": [("{id}", "{number:03d}"), ("{id}", "{number:03d}#{other}")],
    "by parts that stand in both keys": [("USER#{id}", "USER#{id}"), ("USER#{id}", "USER#{id}#{number}")],
    "by a key with one value": [("{id}", SortKey[Literal["META"]]), ("{id}", "v{number}")],
}


@pytest.mark.parametrize("keys", TOLD.values(), ids=TOLD)
def test_templates_tell_kinds_and_nothing_is_declared_or_stored(keys: list[tuple[Any, Any]]) -> None:
    table = games()
    models = [keyed(table, f"M{place}", *each) for place, each in enumerate(keys)]
    items = [
        stored(model, **({} if isinstance(sk, str) else {"sk": "META"}))
        for model, (_, sk) in zip(models, keys, strict=True)
    ]
    assert all(item.keys() == {"id", "other", "number", "pk", "sk"} for item in items)
    for model, item in zip(models, items, strict=True):
        assert [type(each) for each in read(model, item)] == [model]
        for other in models:
            if other is not model:
                with pytest.raises(ItemKindError, match=f"is of the model {model.__name__}, not {other.__name__}"):
                    read(other, item)


AMBIGUOUS = {
    "the same templates": (("U#{id}", "{other}"), ("U#{id}", "{other}"), "{'pk': 'U#x', 'sk': 'x'}"),
    "any text beside a number": (("{id}", "{other}"), ("{id}", "v{number}"), "{'pk': 'x', 'sk': 'v1'}"),
    "plain keys": (
        (PartitionKey[str], SortKey[str]),
        ("{id}", "v{number}"),
        "{'pk': 'x', 'sk': 'v1'}",
    ),
    "an empty value": (("{id}", "A#"), ("{id}", "A#{other}"), "{'pk': 'x', 'sk': 'A#'}"),
    "a part that stands in both keys": (("{id}", "{id}"), ("{id}", "v{number}"), "{'pk': 'v1', 'sk': 'v1'}"),
    "a number that looks like another": (("{id}", "{number}"), ("{id}", "{number:03d}"), "{'pk': 'x', 'sk': '111'}"),
}


@pytest.mark.parametrize(("one", "other", "example"), AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_what_is_ambiguous_is_refused_with_the_pair_and_an_example_key(one: Any, other: Any, example: str) -> None:
    table = games()
    first = keyed(table, "First", *one)
    with pytest.raises(ModelDefinitionError) as caught:
        keyed(table, "Second", *other)
    assert (
        f"Second: and First are told apart by their keys in Table('games'), and both could have the key {example}"
        in (str(caught.value))
    )
    assert [*table.models.values()] == [first]


@pytest.mark.parametrize(
    ("one", "other", "may_be_distinct"),
    [
        (("{id}", "{id}"), ("{id}", "v{number}"), True),
        (("GAME#{id}", "{other}#x"), ("GAME#{id}", "META#{other}"), True),
        (("{id}", "{number:03d}#{other}"), ("{id}", "0{other}"), True),
        (("GAME#{id}", "META"), ("GAME#{id}", "{other}"), True),
        (("{id}", "A#{other}"), ("G#{id}", "A#B#{number}"), True),
        (("U#{id}", "{other}"), ("U#{id}", "{other}"), False),
    ],
)
def test_a_pair_is_proposed_as_distinct_unless_both_make_the_same_keys(
    one: Any, other: Any, may_be_distinct: bool
) -> None:
    for first, second in ((one, other), (other, one)):
        table = games()
        keyed(table, "First", *first)
        with pytest.raises(ModelDefinitionError, match="store a marker") as caught:
            keyed(table, "Second", *second)
        assert ("distinct_from=First" in str(caught.value)) is may_be_distinct


LIMITS: dict[str, tuple[tuple[Any, Any], tuple[Any, Any], dict[str, Any]]] = {
    "a pattern without the separator": (
        ("{id}", "ORDER#{other}"),
        ("{id}", "ORDER#{other}#ITEM#{number}"),
        {"other": Annotated[str, StringConstraints(pattern=r"^[^#]+$")]},
    ),
    "a pattern of one length": (
        ("{id}", "{other}"),
        ("{id}", "USER#{other}"),
        {"other": Annotated[str, Field(pattern=r"^[A-Za-z0-9]{5}$")]},
    ),
    "a length": (("{id}", "{other}"), ("{id}", "ORDER#{number}"), {"other": Annotated[str, Field(max_length=6)]}),
    "a length of what is not empty": (("{id}", "A#{other}"), ("{id}", "A#"), {"other": Annotated[str, Len(1)]}),
    "a bound against a constant": (("{id}", "v{number}"), ("{id}", "v0"), {"number": Annotated[int, Field(ge=1)]}),
    "bounds of padded numbers": (
        ("{id}", "{number:03d}"),
        ("{id}", "9{other}"),
        {"number": Annotated[int, Field(lt=900)]},
    ),
    "a pattern of a key without a template": (
        ("{id}", SortKey[Annotated[str, Field(pattern="^[a-z]+$")]]),
        ("{id}", "ORDER#{number}"),
        {},
    ),
    "an enum as a key without a template": (("{id}", SortKey[Part]), ("{id}", "ORDER#{number}"), {}),
}


@pytest.mark.parametrize(("limited", "other", "fields"), LIMITS.values(), ids=LIMITS)
def test_what_fields_allow_tells_kinds(limited: Any, other: Any, fields: dict[str, Any]) -> None:
    table = games()
    first = keyed(table, "First", *limited, fields=fields)
    second = keyed(table, "Second", *other)
    given = {"other": "abcde"} | ({} if isinstance(limited[1], str) else {"sk": "meta"})
    items = [stored(first, **given), stored(second)]
    assert [type(each[0]) for each in map(read, (first, second), items)] == [first, second]


def test_an_item_with_a_value_that_its_field_does_not_allow_is_still_of_its_model() -> None:
    table = games()
    version = keyed(table, "Version", "{id}", "v{number}", fields={"number": Annotated[int, Field(ge=1, le=99)]})
    latest = keyed(table, "Latest", "{id}", "v0")
    item = {**stored(version), "sk": {"S": "v100"}, "number": {"N": "100"}}
    with pytest.raises(ItemValidationError, match="less than or equal to 99"):
        read(version, item)
    with pytest.raises(ItemKindError, match="is of the model Version, not Latest"):
        read(latest, item)


@pytest.mark.parametrize("beside", [None, "a child", "the rest"])
def test_what_fields_allow_costs_a_look_at_each_item_only_where_kinds_are_told_by_it(beside: str | None) -> None:
    table = games()
    fields = {"other": Annotated[str, Field(pattern="^[^#]+$")]}
    order = keyed(table, "Order", "{id}", "ORDER#{other}", fields=fields)
    keyed(table, "Note", "{id}", "NOTE#{other}", fields=fields)
    if beside == "a child":
        keyed(table, "Line", "{id}", "ORDER#{other}#L#{number}")
    elif beside == "the rest":
        keyed(table, "Rest", PartitionKey[str], SortKey[str], kind=UNMARKED)
    reading = Query(order).where(order.pk == "a").reading(Context())
    assert (reading.answer_filter is None) == (beside is None)


def test_numbers_as_keys_are_told_by_what_fields_allow() -> None:
    table = games(types={"sk": "N"})
    latest = keyed(table, "Latest", "{id}", SortKey[Literal[0]])
    version = keyed(table, "Version", "{id}", SortKey[Annotated[int, Field(ge=1)]])
    items = [stored(latest, sk=0), stored(version, sk=10)]
    assert [type(each[0]) for each in map(read, (latest, version), items)] == [latest, version]
    with pytest.raises(ModelDefinitionError, match="both could have the key {'pk': 'x', 'sk': '0'}"):
        keyed(table, "Draft", "{id}", SortKey[int])


def test_functions_of_a_field_may_change_its_values_so_that_its_pattern_tells_nothing() -> None:
    table = games()
    changed = Annotated[str, Field(pattern="^[a-z]+$"), AfterValidator(lambda text: f"{text}#ITEM#1")]
    keyed(table, "Order", "{id}", "ORDER#{other}", fields={"other": changed})
    with pytest.raises(ModelDefinitionError, match="are told apart by their keys"):
        keyed(table, "Line", "{id}", "ORDER#{other}#ITEM#{number}")
    keyed(table, "Upper", "{id}", "UP#{other}", fields={"other": Annotated[str, StringConstraints(to_upper=True)]})
    with pytest.raises(ModelDefinitionError, match="are told apart by their keys"):
        keyed(table, "Named", "{id}", "UP#A", fields={"other": str})


def test_a_pattern_that_is_not_understood_is_asked_of_each_key() -> None:
    table = games()
    word = keyed(table, "Word", "{id}", "{other}", fields={"other": Annotated[str, Field(pattern="(?i)^[a-z]+$")]})
    meta = keyed(table, "Meta", "{id}", "META#1")
    items = [stored(word, other="Abc"), stored(meta)]
    assert [type(each[0]) for each in map(read, (word, meta), items)] == [word, meta]


def test_a_refusal_shows_what_makes_the_key_of_both_and_the_ways_out() -> None:
    table = games()
    keyed(table, "Order", "{id}", "ORDER#{other}")
    with pytest.raises(ModelDefinitionError) as caught:
        keyed(table, "Line", "{id}", "ORDER#{other}#ITEM#{number}")
    message = str(caught.value)
    assert "Line has pk '{id}' and sk 'ORDER#{other}#ITEM#{number}', here with id='x', other='x', number=1" in message
    assert "and Order has pk '{id}' and sk 'ORDER#{other}', here with id='x', other='x#ITEM#1'" in message
    assert "such as Order.other with Field(pattern='^[^#]*$'); or store a marker with one of them" in message
    assert "distinct_from=Order), so that such a key is always of Line, and refused to Order" in message


CHILDREN: dict[str, tuple[tuple[Any, Any], tuple[Any, Any], dict[str, Any]]] = {
    "a child of a parent": (("{id}", "O#{other}"), ("{id}", "O#{other}#L#{number}"), {"other": "x#L#1"}),
    "a constant beside a number": (("{id}", "v{number}"), ("{id}", "v0"), {"number": 0}),
    "a constant beside a text": (("{id}", "{other}"), ("{id}", "META"), {"other": "META"}),
    "parts in both keys beside others": (("U#{id}", "U#{other}"), ("U#{id}", "U#{id}"), {"other": "a"}),
    "a longer beginning": (("{id}", "A#{other}"), ("{id}", "A#B#{other}"), {"other": "B#"}),
}


@pytest.mark.parametrize(("parent", "child", "taken"), CHILDREN.values(), ids=CHILDREN)
@pytest.mark.parametrize("first", ["parent", "child"])
def test_of_models_that_are_declared_distinct_the_one_with_the_more_special_keys_has_what_both_could_make(
    parent: Any, child: Any, taken: dict[str, Any], first: str
) -> None:
    table = games()
    if first == "parent":
        outer = keyed(table, "Outer", *parent)
        inner = keyed(table, "Inner", *child, distinct_from=outer)
    else:
        inner = keyed(table, "Inner", *child)
        outer = keyed(table, "Outer", *parent, distinct_from=inner)
    items = [stored(outer), stored(inner)]
    assert [type(each[0]) for each in map(read, (outer, inner), items)] == [outer, inner]
    with pytest.raises(EncodeError, match="Outer: the key .* is that of a Inner"):
        stored(outer, **taken)
    reading = Query(outer).where(outer.pk == items[0]["pk"]["S"]).reading(Context())
    assert reading.answer_filter is not None


def test_several_models_may_be_unmarked_where_their_keys_differ() -> None:
    table = games(discriminator="type")
    keyed(table, "Marked", "{id}", "M#{other}", kind="marked")
    order = keyed(table, "Order", "{id}", "ORDER#{other}", kind=UNMARKED)
    refund = keyed(table, "Refund", "{id}", "REFUND#{other}", kind=UNMARKED)
    line = keyed(table, "Line", "{id}", "ORDER#{other}#L#{number}", kind=BY_KEYS)
    models = [order, refund, line]
    items = [stored(each) for each in models]
    assert [type(each[0]) for each in map(read, models, items)] == models
    with pytest.raises(EncodeError, match="Order: the key .* is that of a Line"):
        stored(order, other="b#L#7")
    with pytest.raises(ItemKindError, match="is of no known model"):
        read(order, {**items[0], "sk": {"S": "x"}})
    with pytest.raises(ModelDefinitionError, match='Late: and Order are told apart by their keys.*kind="..."'):
        keyed(table, "Late", "{id}", "ORDER#{number}", kind=UNMARKED)


def test_a_pair_that_is_declared_distinct_is_told_by_what_keys_say() -> None:
    table = games()
    root = keyed(table, "Root", "{id}", "{id}")
    version = keyed(table, "Version", "{id}", "v{number}", distinct_from=root)
    items = [stored(root), stored(version), stored(version, id="v8")]
    assert [type(each) for each in (*read(root, items[0]), *read(version, *items[1:]))] == [root, version, version]


def test_what_is_ambiguous_when_read_is_an_error_that_names_both_kinds() -> None:
    table = games()
    root = keyed(table, "Root", "{id}", "{id}")
    version = keyed(table, "Version", "{id}", "v{number}", distinct_from=(root,))
    item = {"pk": {"S": "v7"}, "sk": {"S": "v7"}, "id": {"S": "v7"}, "number": {"N": "7"}, "other": {"S": ""}}
    for model in (root, version):
        with pytest.raises(ItemKindError, match="may be of the models Root and Version, which are declared distinct"):
            read(model, item)


def test_what_would_be_ambiguous_when_read_is_not_written() -> None:
    table = games()
    root = keyed(table, "Root", "{id}", "{id}")
    keyed(table, "Version", "{id}", "v{number}", distinct_from=root)
    with pytest.raises(EncodeError, match="Root: the key pk 'v7' and sk 'v7' may be that of Root and Version"):
        stored(root, id="v7")
    with pytest.raises(EncodeError, match="may be that of Root and Version"):
        definition_of(root).key(("v7", "v7"))


def test_a_declaration_holds_for_subclasses_of_both() -> None:
    table = games()
    root = keyed(table, "Root", "{id}", "{id}")
    base = keyed(table, "Base", "{id}", "v{number}", distinct_from=root)
    leaf = keyed(table, "Leaf", "{id}", "v{number}#{other}", base, distinct_from=())
    assert [type(each) for each in read(base, stored(base), stored(leaf))] == [base, leaf]


def test_what_can_neither_be_proved_nor_refuted_is_taken_and_looked_at_when_read() -> None:
    # Only where an id is a name, a sign and the same name again could both be the model of one item.
    table = games()
    one = keyed(table, "One", "{id}", "{id}#{other}")
    two = keyed(table, "Two", "{id}#{number}", "{id}#{number}")
    assert [type(each) for each in (*read(one, stored(one)), *read(two, stored(two)))] == [one, two]


def test_a_key_of_another_kind_is_refused_before_anything_is_sent() -> None:
    table = games()
    game = keyed(table, "Game", "GAME#{id}", "META")
    keyed(table, "Player", "GAME#{id}", "USER#{other}")
    with pytest.raises(EncodeError, match="Game: the key pk 'GAME#1' and sk 'USER#2' is that of a Player"):
        definition_of(game).key(("GAME#1", "USER#2"))
    with pytest.raises(EncodeError, match="of no Game, whose keys are pk 'GAME#{id}' and sk 'META'"):
        definition_of(game).key(("game#1", "META"))


def test_a_family_is_told_by_its_keys_and_read_through_its_base() -> None:
    table = games()

    class Part(Model, table=table, abstract=True):
        id: Attr[str]
        pk: PartitionKey[str] = template("GAME#{id}")
        sk: SortKey[str]

    class Meta(Part):
        sk: SortKey[str] = template("META")

    class Player(Part):
        name: Attr[str]
        sk: SortKey[str] = template("USER#{name}")

    items = [Meta(id="1"), Player(id="1", name="ann")]
    found = read(Part, *(definition_of(type(each)).items.encode(each) for each in items))
    assert found == items
    assert definition_of(Part).key(("GAME#1", "META"))
    with pytest.raises(EncodeError, match="of no Part"):
        definition_of(Part).key(("GAME#1", "x"))


def test_a_subclass_with_the_keys_of_its_base_is_refused() -> None:
    table = games()
    base = keyed(table, "Base", "U#{id}", "META")
    with pytest.raises(ModelDefinitionError, match="Leaf: and Base are told apart by their keys"):
        type(Model)("Leaf", (base,), {"__module__": __name__, "__qualname__": "Leaf", "__annotations__": {}})


def test_derived_marked_and_unmarked_kinds_are_told_in_one_table() -> None:
    table = games(discriminator="type")
    order = keyed(table, "Order", "{id}", "O#{number}", kind="order")
    session = keyed(table, "Session", "{id}", "SESSION#{other}", kind=BY_KEYS)
    cart = keyed(table, "Cart", "{id}", "CART", kind=BY_KEYS)
    rest = keyed(table, "Rest", PartitionKey[str], SortKey[str], kind=UNMARKED)
    items = [stored(order), stored(session), stored(cart), stored(rest, pk="p", sk="s")]
    assert [item.get("type") for item in items] == [{"S": "order"}, None, None, None]
    assert [type(each[0]) for each in map(read, (order, session, cart, rest), items)] == [order, session, cart, rest]
    with pytest.raises(EncodeError, match="Rest: the key pk 'p' and sk 'CART' is that of a Cart"):
        stored(rest, pk="p", sk="CART")
    with pytest.raises(ItemKindError, match="is of no known model, .*it has 'type' 'gift'"):
        read(cart, {**items[2], "type": {"S": "gift"}})


def test_a_prefix_goes_with_derived_and_unmarked_kinds() -> None:
    table = games(discriminator=Prefix("sk"))
    item = keyed(table, "Item", PartitionKey[str], SortKey[str], kind="ITEM#")
    meta = keyed(table, "Meta", "{id}", "META", kind=BY_KEYS)
    rest = keyed(table, "Rest", PartitionKey[str], SortKey[str], kind=UNMARKED)
    items = [stored(item, pk="p", sk="ITEM#1"), stored(meta), stored(rest, pk="p", sk="x")]
    assert [type(each[0]) for each in map(read, (item, meta, rest), items)] == [item, meta, rest]
    with pytest.raises(ModelDefinitionError, match="Other: and Item are told apart by their keys .* 'ITEM#"):
        keyed(table, "Other", "{id}", "ITEM#{other}", kind=BY_KEYS)
    with pytest.raises(EncodeError, match="is that of a Item"):
        stored(rest, pk="p", sk="ITEM#1")


def test_marked_models_whose_keys_are_alike_may_be_declared_distinct() -> None:
    table = games(discriminator="type")
    first = keyed(table, "First", "{id}", "{other}")
    with pytest.raises(ModelDefinitionError, match=r"such as \{'pk': 'x', 'sk': 'x'\}.*distinct_from=First"):
        keyed(table, "Second", "{id}", "{other}")
    second = keyed(table, "Second", "{id}", "{other}", distinct_from=first)
    assert [type(each[0]) for each in map(read, (first, second), map(stored, (first, second)))] == [first, second]


def test_shards_are_no_part_of_what_tells_a_kind() -> None:
    table = games()

    class Line(Model, table=table):
        id: Attr[str]
        number: Attr[int]
        pk: PartitionKey[str] = template("L#{id}", shards=7)
        sk: SortKey[str] = template("{number:03d}")

    meta = keyed(table, "Meta", "{id}", "META")
    items = [definition_of(Line).items.encode(Line(id="a", number=1)), stored(meta)]
    assert items[0]["pk"]["S"][:-2] == "L#a#"
    assert [type(each[0]) for each in map(read, (Line, meta), items)] == [Line, meta]


def test_an_item_that_fits_no_template_is_of_no_model_and_the_error_says_what_is_known() -> None:
    table = games()
    game = keyed(table, "Game", "GAME#{id}", "META")
    with pytest.raises(ItemKindError) as caught:
        read(game, {"pk": {"S": "GAME#1"}, "sk": {"S": "LOG"}})
    assert "it has the key pk 'GAME#1' and sk 'LOG', and Table('games') knows the kinds of keys pk 'GAME#{id}' and" in (
        str(caught.value)
    )
    assert caught.value.kind is None


CERTAIN: dict[str, tuple[Any, bool]] = {
    "a value": (lambda model: [model.pk == "GAME#1"], True),
    "values": (lambda model: [model.pk.is_in("GAME#1", "GAME#2")], True),
    "a value of another kind": (lambda model: [model.pk == "USER#1"], False),
    "values of several kinds": (lambda model: [model.pk.is_in("GAME#1", "USER#2")], False),
    "values in both keys": (lambda model: [model.pk == "GAME#1", model.other.is_in("x", "y")], True),
    "a beginning": (lambda model: [model.pk == "GAME#1", model.sk.begins_with("MOVE#x")], True),
    "a beginning of several kinds": (lambda model: [model.pk == "GAME#1", model.sk.begins_with("M")], False),
    "a range": (lambda model: [model.pk == "GAME#1", model.sk.between("MOVE#x", "MOVE#y")], True),
}


@pytest.mark.parametrize(("conditions", "is_certain"), CERTAIN.values(), ids=CERTAIN)
def test_items_of_a_query_are_looked_at_unless_its_keys_are_those_of_its_model_alone(
    conditions: Any, *, is_certain: bool
) -> None:
    table = games()
    keyed(table, "Game", "GAME#{id}", "META")
    move = keyed(table, "Move", "GAME#{id}", "MOVE#{other}")
    reading = Query(move).where(*conditions(move)).reading(Context())
    assert (reading.answer_filter is None) == is_certain


def test_what_is_no_kind_of_such_a_table_is_refused() -> None:
    with pytest.raises(ModelDefinitionError, match="has the kind 'game'.*has no attribute for it; drop"):
        keyed(games(), "Game", "GAME#{id}", "META", kind="game")
    with pytest.raises(ModelDefinitionError, match="distinct_from='Game' is not a model"):
        keyed(games(), "Game", "GAME#{id}", "META", distinct_from=("Game",))
    with pytest.raises(ModelDefinitionError, match="distinct_from='Game' is not a model"):
        keyed(games(), "Game", "GAME#{id}", "META", distinct_from="Game")


def test_models_that_name_each_other_are_told_apart_once_both_are_complete() -> None:
    table = games()

    class Node(Model, table=table):
        id: Attr[str]
        leaves: Attr[list["Leaf"]] = attr(default_factory=list)
        pk: PartitionKey[str] = template("N#{id}")
        sk: SortKey[str] = template("META")

    class Leaf(Model, table=table):
        id: Attr[str]
        pk: PartitionKey[str] = template("N#{id}")
        sk: SortKey[str] = template("LEAF")

    Node.model_rebuild()
    [leaf] = read(Leaf, definition_of(Leaf).items.encode(Leaf(id="1")))
    assert read(Node, definition_of(Node).items.encode(Node(id="1"))) == [Node(id="1")]
    assert leaf == Leaf(id="1")
