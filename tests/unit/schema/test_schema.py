"""Keys, indexes, projections and tables: what they are to the API, and what an index holds."""

import pytest

from dynamap_async.schema import (
    ALL,
    KEYS_ONLY,
    IndexKind,
    IndexSchema,
    KeyAttribute,
    KeySchema,
    Projection,
    TableSchema,
    Throughput,
    include,
)

USER, NUMBER, CITY, DAY = (
    KeyAttribute(*pair) for pair in (("user", "S"), ("number", "N"), ("city", "S"), ("day", "B"))
)
KEYS = KeySchema((USER,), (NUMBER,))
WIRE_KEYS = [{"AttributeName": "user", "KeyType": "HASH"}, {"AttributeName": "number", "KeyType": "RANGE"}]
BY_DAY = IndexSchema(name="by-day", kind=IndexKind.LOCAL, keys=KeySchema((USER,), (DAY,)), projection=KEYS_ONLY)
BY_CITY = IndexSchema(
    name="by-city",
    kind=IndexKind.GLOBAL,
    keys=KeySchema((CITY,)),
    projection=include("text"),
    throughput=Throughput(read=1, write=2),
)
BY_ALL = IndexSchema(name="by-all", kind=IndexKind.GLOBAL, keys=KeySchema((CITY, DAY), (USER, NUMBER)))
TABLE = TableSchema(name="tweets", keys=KEYS, indexes=(BY_DAY, BY_CITY, BY_ALL), ttl_attribute="expires")


def test_key_schema_lists_the_partition_key_first() -> None:
    assert KEYS.names == ("user", "number")
    assert KEYS.attributes == (USER, NUMBER)
    assert KEYS.to_wire() == WIRE_KEYS


@pytest.mark.parametrize("keys", [KEYS, BY_DAY.keys, BY_CITY.keys, BY_ALL.keys])
def test_key_schema_is_read_back_from_its_wire_form(keys: KeySchema) -> None:
    assert KeySchema.from_wire(keys.to_wire(), TABLE.attribute_types) == keys


def test_key_schema_takes_the_key_out_of_an_item() -> None:
    item = {"text": {"S": "hi"}, "number": {"N": "1"}, "user": {"S": "ada"}}
    assert KEYS.key_of(item) == {"user": {"S": "ada"}, "number": {"N": "1"}}  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="number"):
        KEYS.key_of({"user": {"S": "ada"}})


@pytest.mark.parametrize(
    ("projection", "wire"),
    [
        (ALL, {"ProjectionType": "ALL"}),
        (KEYS_ONLY, {"ProjectionType": "KEYS_ONLY"}),
        (include("a", "b"), {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "b"]}),
    ],
)
def test_projection_has_the_wire_form_of_the_api(projection: Projection, wire: object) -> None:
    assert projection.to_wire() == wire


def test_index_has_the_wire_form_of_the_api() -> None:
    assert BY_CITY.to_wire() == {
        "IndexName": "by-city",
        "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["text"]},
    }


def test_throughput_has_the_wire_form_of_the_api() -> None:
    assert Throughput(read=1, write=2).to_wire() == {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}


@pytest.mark.parametrize(("read", "write"), [(0, 1), (1, 0), (-1, -1)])
def test_throughput_below_one_unit_is_refused(read: int, write: int) -> None:
    with pytest.raises(
        ValueError, match=rf"Throughput\(read={read}, write={write}\): DynamoDB provisions at least 1 unit"
    ):
        Throughput(read=read, write=write)


def test_table_finds_its_indexes_by_name_and_by_kind() -> None:
    assert TABLE.index("by-city") is BY_CITY
    assert TABLE.local_indexes == (BY_DAY,)
    assert TABLE.global_indexes == (BY_CITY, BY_ALL)
    with pytest.raises(KeyError, match="nope"):
        TABLE.index("nope")


def test_attribute_types_are_those_of_all_keys_each_once() -> None:
    assert TABLE.attribute_types == {"user": "S", "number": "N", "city": "S", "day": "B"}


@pytest.mark.parametrize(
    ("index", "attribute", "held"),
    [
        (BY_ALL, "anything", True),
        (BY_DAY, "user", True),
        (BY_DAY, "number", True),
        (BY_DAY, "day", True),
        (BY_DAY, "text", False),
        (BY_CITY, "text", True),
        (BY_CITY, "city", True),
        (BY_CITY, "number", True),
        (BY_CITY, "day", False),
    ],
)
def test_index_holds_its_keys_the_tables_keys_and_what_it_projects(index, attribute: str, held: bool) -> None:
    assert TABLE.projects(index, attribute) is held


def test_prefix_changes_the_name_only() -> None:
    assert TABLE.named("app-test-tweets").name == "app-test-tweets"
    assert TABLE.named("app-test-tweets").indexes == TABLE.indexes
    assert TABLE.named("tweets") is TABLE
