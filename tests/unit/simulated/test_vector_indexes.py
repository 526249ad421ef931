"""Vector indexes of the engine in the process: what they hold, what they find, and what they refuse."""

import json
import math
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap_async.simulated import Durations, SimulatedDynamoDB

WRONG = "One or more parameter values were invalid"
SCHEMA = [
    {"AttributeName": "tenant", "SearchSchemaElementType": "HASH"},
    {"AttributeName": "lang", "SearchSchemaElementType": "INLINE_FILTER"},
    {"AttributeName": "year", "SearchSchemaElementType": "INLINE_FILTER"},
]


def index(name="near", **changes):
    """Return the definition of a vector index; None leaves a member out."""
    found = {
        "IndexName": name,
        "VectorAttribute": {"AttributeName": "e"},
        "Dimensions": 2,
        "DistanceFunction": "COSINE",
        "Projection": {"ProjectionType": "ALL"},
        "SearchSchema": SCHEMA,
        **changes,
    }
    return {member: value for member, value in found.items() if value is not None}


def table(*indexes, types=None, **changes):
    types = types or {"pk": "S", "tenant": "S", "lang": "S", "year": "N"}
    return {
        "TableName": "things",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()],
        "BillingMode": "PAY_PER_REQUEST",
        "VectorIndexes": list(indexes),
        **changes,
    }


def vector(*values):
    return [{"N": str(value)} for value in values]


def item(key, *values, tenant="a", lang=None, year=None, **more):
    found = {"pk": {"S": key}, "tenant": {"S": tenant} if tenant else None, **more}
    found |= {"lang": {"S": lang} if lang else None, "year": {"N": str(year)} if year is not None else None}
    found |= {"e": {"L": vector(*values)}} if values else {}
    return {name: value for name, value in found.items() if value is not None}


@pytest.fixture
def service(call):
    service = SimulatedDynamoDB()
    call(service, "CreateTable", **table(index()))
    return service


@pytest.fixture
def put(call, service):
    def put(*args, **more):
        asked = {"ReturnConsumedCapacity": "INDEXES"}
        return call(service, "PutItem", TableName="things", Item=item(*args, **more), **asked)["ConsumedCapacity"]

    return put


def searched(*near, tenant="a", condition="tenant = :tenant", values=None, **more):
    body = {"TableName": "things", "IndexName": "near", "SearchVector": vector(*near), "TopK": 10, **more}
    if condition is not None:
        body["SearchConditionExpression"] = condition
        body["ExpressionAttributeValues"] = {":tenant": {"S": tenant}, **(values or {})}
    return {member: value for member, value in body.items() if value is not None}


@pytest.fixture
def search(call, service):
    """Return a function that returns the keys and the scores of what a search finds."""

    def search(*near, **more):
        found = call(service, "SearchVectors", **searched(*near, **more))["SearchResults"]
        return [(each["Item"]["pk"]["S"], round(each["Score"], 6)) for each in found]

    return search


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("COSINE", [("same", 0.0), ("longer", 0.0), ("aside", 1.0), ("zero", 1.0), ("against", 2.0)]),
        ("EUCLIDEAN", [("same", 0.0), ("zero", 1.0), ("aside", 1.414214), ("against", 2.0), ("longer", 2.0)]),
        ("DOT_PRODUCT", [("longer", 3.0), ("same", 1.0), ("aside", 0.0), ("zero", 0.0), ("against", -1.0)]),
    ],
)
def test_the_nearest_come_first_by_each_distance(call, distance, expected):
    service = SimulatedDynamoDB()
    call(service, "CreateTable", **table(index(DistanceFunction=distance, SearchSchema=None), types={"pk": "S"}))
    vectors = {"same": (1, 0), "longer": (3, 0), "aside": (0, 1), "against": (-1, 0), "zero": (0, 0)}
    for key, values in vectors.items():
        call(service, "PutItem", TableName="things", Item=item(key, *values))
    found = call(service, "SearchVectors", **searched(1, 0, condition=None))["SearchResults"]
    scores = [(each["Item"]["pk"]["S"], round(each["Score"], 6)) for each in found]
    assert sorted(scores) == sorted(expected)
    assert [score for _key, score in scores] == [score for _key, score in expected]


def test_only_as_many_are_given_as_were_asked_for(put, search):
    for number in range(5):
        put(str(number), 1, number)
    assert [key for key, _score in search(1, 0, TopK=2)] == ["0", "1"]


def test_a_search_sees_one_partition_key(put, search):
    put("mine", 1, 0)
    put("other", 1, 0, tenant="b")
    assert search(1, 0) == [("mine", 0.0)]
    assert search(1, 0, tenant="b") == [("other", 0.0)]
    assert search(1, 0, tenant="nobody") == []


def test_filters_are_equalities_of_attributes_that_may_be_absent(put, search):
    put("en", 1, 0, lang="en", year=2026)
    put("de", 1, 0, lang="de")
    put("none", 1, 0)
    assert [key for key, _score in search(1, 0)] == ["de", "en", "none"]
    by_both = {"condition": "tenant = :tenant AND (lang = :l AND :y = #y)", "ExpressionAttributeNames": {"#y": "year"}}
    found = search(1, 0, values={":l": {"S": "en"}, ":y": {"N": "2026.0"}}, **by_both)
    assert found == [("en", 0.0)]


def test_an_item_without_the_partition_key_or_the_vector_is_left_out(put, search):
    assert "VectorIndexes" not in put("no tenant", 1, 0, tenant=None)
    assert "VectorIndexes" not in put("no vector")
    assert search(1, 0) == []


def test_the_index_follows_updates_and_deletes(call, service, put, search):
    put("a", 1, 0)
    values = {":e": {"L": vector(0, 1)}}
    key = {"TableName": "things", "Key": {"pk": {"S": "a"}}}
    call(service, "UpdateItem", **key, UpdateExpression="SET e = :e", ExpressionAttributeValues=values)
    assert search(1, 0) == [("a", 1.0)]
    call(service, "UpdateItem", **key, UpdateExpression="REMOVE tenant")
    assert search(1, 0) == []
    put("a", 1, 0)
    call(service, "DeleteItem", **key)
    assert search(1, 0) == []


def test_the_vector_is_given_only_where_it_is_asked_for(call, service, put):
    put("a", 0.1, "0.30000000000000004", lang="en", text={"S": "t"})
    [plain] = call(service, "SearchVectors", **searched(1, 0))["SearchResults"]
    assert plain["Item"] == item("a", lang="en", text={"S": "t"})
    [asked] = call(service, "SearchVectors", **searched(1, 0, ProjectionExpression="pk, e, nothing"))["SearchResults"]
    assert asked["Item"] == {"pk": {"S": "a"}, "e": {"L": vector("0.1", "0.3")}}  # as 32 bits have them


@pytest.mark.parametrize(
    ("projection", "kept"),
    [
        ({"ProjectionType": "KEYS_ONLY"}, {"pk", "tenant", "lang"}),
        ({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["text", "e"]}, {"pk", "tenant", "lang", "text"}),
        ({"ProjectionType": "ALL"}, {"pk", "tenant", "lang", "text", "more"}),
    ],
)
def test_results_have_what_is_projected_and_what_can_be_searched_by(call, projection, kept):
    service = SimulatedDynamoDB()
    call(service, "CreateTable", **table(index(Projection=projection)))
    more = {"text": {"S": "t"}, "more": {"S": "m"}}
    call(service, "PutItem", TableName="things", Item=item("a", 1, 0, lang="en", **more))
    [found] = call(service, "SearchVectors", **searched(1, 0))["SearchResults"]
    assert found["Item"].keys() == kept


def test_bytes_are_counted_for_writes_and_searches(call, service, put):
    pad = {"text": {"S": "x" * 2000}}
    weight = len("pk" + "a" + "tenant" + "a" + "text" + "e") + 2000 + 2 * 4
    taken = put("a", 1, 0, **pad)
    assert taken["VectorIndexes"] == {"near": {"VectorWriteRequestBytes": float(weight)}}
    assert taken["CapacityUnits"] == taken["Table"]["CapacityUnits"]
    assert "VectorIndexes" not in put("a", 1, 0, **pad)  # it changed nothing
    both = put("a", 1, 0, tenant="b", **pad)["VectorIndexes"]["near"]["VectorWriteRequestBytes"]
    assert both == 2.0 * weight
    assert put("b", 1, 0, tenant="b")["VectorIndexes"] == {"near": {"VectorWriteRequestBytes": 1024.0}}
    for asked, expected in (("NONE", None), ("TOTAL", weight + 19), ("INDEXES", weight + 19)):
        body = searched(1, 0, tenant="b", ReturnConsumedCapacity=asked)
        found = call(service, "SearchVectors", **body).get("ConsumedCapacity")
        assert (found and found["VectorSearchRequestBytes"]) == expected
    batch = {"RequestItems": {"things": [{"PutRequest": {"Item": item(key, 1, 0)}} for key in "cd"]}}
    [capacity] = call(service, "BatchWriteItem", **batch, ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"]
    assert capacity["VectorIndexes"] == {"near": {"VectorWriteRequestBytes": 2048.0}}
    assert (
        "VectorIndexes"
        not in call(service, "PutItem", TableName="things", Item=item("e", 1, 0), ReturnConsumedCapacity="TOTAL")[
            "ConsumedCapacity"
        ]
    )


def test_a_table_describes_its_vector_indexes(call, service, put):
    put("a", 1, 0)
    [found] = call(service, "DescribeTable", TableName="things")["Table"]["VectorIndexes"]
    assert {name: found[name] for name in index()} == index()
    assert (found["IndexStatus"], found["ItemCount"]) == ("ACTIVE", 1)
    assert found["IndexArn"].endswith(":table/things/index/near")


def test_an_index_is_built_of_the_items_that_fit(call, refused):
    service = SimulatedDynamoDB()
    call(service, "CreateTable", **table(types={"pk": "S"}, VectorIndexes=None))
    for key, values in (("fits", (1, 0)), ("long", (1, 0, 0)), ("none", ())):
        call(service, "PutItem", TableName="things", Item=item(key, *values))
    types = table(index())["AttributeDefinitions"]
    made = {"TableName": "things", "AttributeDefinitions": types, "VectorIndexUpdates": [{"Create": index()}]}
    assert call(service, "UpdateTable", **made)["TableDescription"]["AttributeDefinitions"] == types
    found = call(service, "SearchVectors", **searched(1, 0))["SearchResults"]
    assert [each["Item"]["pk"]["S"] for each in found] == ["fits"]
    gone = {"TableName": "things", "VectorIndexUpdates": [{"Delete": {"IndexName": "near"}}]}
    told = call(service, "UpdateTable", **gone)["TableDescription"]
    assert "VectorIndexes" not in told
    assert told["AttributeDefinitions"] == types[:1]
    assert refused(service, "SearchVectors", **searched(1, 0))[1] == "The table does not have the specified index: near"


def test_a_snapshot_takes_back_an_index_that_was_dropped_and_what_was_written_since(call, service, put, search):
    put("a", 1, 0)
    snapshot = service.snapshot()
    put("b", 1, 0)
    call(service, "UpdateTable", TableName="things", VectorIndexUpdates=[{"Delete": {"IndexName": "near"}}])
    put("c", 1, 0)
    service.restore(snapshot)
    assert search(1, 0) == [("a", 0.0)]


def test_a_backup_keeps_vector_indexes(call, service, put):
    put("a", 1, 0)
    arn = call(service, "CreateBackup", TableName="things", BackupName="copy")["BackupDetails"]["BackupArn"]
    call(service, "RestoreTableFromBackup", TargetTableName="again", BackupArn=arn)
    assert len(call(service, "SearchVectors", **searched(1, 0, TableName="again"))["SearchResults"]) == 1
    without = {"TargetTableName": "plain", "BackupArn": arn, "VectorIndexOverride": []}
    assert "VectorIndexes" not in call(service, "RestoreTableFromBackup", **without)["TableDescription"]


def test_a_saved_table_has_its_vector_indexes(call, service, put):
    put("a", 1, 0)
    text, other = b"".join(service.written()), SimulatedDynamoDB()
    other.read(text)
    assert len(call(other, "SearchVectors", **searched(1, 0))["SearchResults"]) == 1
    assert b"".join(other.written()) == text


def test_answers_of_more_than_16_megabytes_are_refused(call, refused, service):
    for number in range(43):
        call(service, "PutItem", TableName="things", Item=item(str(number), 1, 0, text={"S": "x" * 400_000}))
    assert "more than 16 MB" in refused(service, "SearchVectors", **searched(1, 0, TopK=50))[1]
    assert len(call(service, "SearchVectors", **searched(1, 0, TopK=40))["SearchResults"]) == 40


FILTERS = [f"f{number}" for number in range(19)]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            table(
                index(),
                BillingMode="PROVISIONED",
                ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            ),
            "Vector indexes are only supported for PAY_PER_REQUEST tables",
        ),
        (table(index(Dimensions=4097)), "Number of dimensions must be between 1 and 4096 inclusive."),
        (
            table(index(SearchSchema=[SCHEMA[0], SCHEMA[1] | {"SearchSchemaElementType": "HASH"}])),
            (
                "Value '2' at 'SearchSchema' failed to satisfy constraint: "
                "Member must have HASH count less than or equal to 1"
            ),
        ),
        (
            table(
                index(
                    SearchSchema=[
                        {"AttributeName": name, "SearchSchemaElementType": "INLINE_FILTER"} for name in FILTERS
                    ]
                ),
                types={"pk": "S"} | dict.fromkeys(FILTERS, "S"),
            ),
            (
                "Value '19' at 'SearchSchema' failed to satisfy constraint: "
                "Member must have INLINE_FILTER count less than or equal to 18"
            ),
        ),
        (table(index(SearchSchema=[SCHEMA[1], SCHEMA[1]])), "SearchSchema contains a duplicate AttributeName"),
        (
            table(index(), types={"pk": "S", "tenant": "S"}),
            "One element in SearchSchema is not defined in attribute definitions",
        ),
        (
            table(index(VectorAttribute={"AttributeName": "pk"})),
            (
                "Conflicting attribute definition for 'pk'. An attribute cannot be defined in AttributeDefinitions "
                "when used as a VectorAttribute."
            ),
        ),
        (
            table(index(), index("other", Dimensions=3)),
            (
                "Conflicting attribute definition for 'e'. All VectorIndexes on the same vector attribute must use the "
                "same dimensions."
            ),
        ),
        (table(index(), index()), "Duplicate index name: near"),
        (table(*(index(f"near{number}") for number in range(6))), "VectorIndex count exceeds the per-table limit of 5"),
        (table(), "List of VectorIndexes is empty"),
        (
            table(index(Projection={"ProjectionType": "INCLUDE"})),
            "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (table(index(Projection={})), "Unknown ProjectionType: null"),
    ],
)
def test_a_definition_that_cannot_be_is_refused(refused, made, message):
    service = SimulatedDynamoDB()
    assert refused(service, "CreateTable", **made) == ("ValidationException", f"{WRONG}: {message}")
    assert service.store.tables == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Dimensions": 0}, "'vectorIndexes.1.member.dimensions' failed to satisfy constraint: Member must have value"),
        ({"DistanceFunction": "L2"}, "satisfy enum value set: [COSINE, DOT_PRODUCT, EUCLIDEAN]"),
        ({"Projection": None}, "'vectorIndexes.1.member.projection' failed to satisfy constraint: Member must not be"),
        ({"SearchSchema": []}, "'vectorIndexes.1.member.searchSchema' failed to satisfy constraint: Member must have"),
        ({"Shape": 1}, "does not know the member vectorIndexes.1.member.Shape"),
    ],
)
def test_a_definition_of_the_wrong_form_is_refused(refused, changes, message):
    code, text = refused(SimulatedDynamoDB(), "CreateTable", **table(index(**changes)))
    assert code == "ValidationException"
    assert message in text


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        (
            {"VectorIndexUpdates": [{"Create": index()}]},
            "ValidationException",
            "Attempting to create an index which already exists",
        ),
        (
            {"VectorIndexUpdates": [{"Delete": {"IndexName": "nope"}}]},
            "ResourceNotFoundException",
            "Requested resource not found: Index nope for table things",
        ),
        (
            {"VectorIndexUpdates": [{}]},
            "ValidationException",
            f"{WRONG}: One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null",
        ),
        (
            {"VectorIndexUpdates": [{"Create": index("other"), "Delete": {"IndexName": "near"}}]},
            "ValidationException",
            f"{WRONG}: Only one vector index action is allowed per VectorIndexUpdate object",
        ),
        (
            {"VectorIndexUpdates": [{"Create": index("other")}, {"Delete": {"IndexName": "near"}}]},
            "LimitExceededException",
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        ),
        (
            {
                "VectorIndexUpdates": [{"Create": index("other")}],
                "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "any"}}],
            },
            "LimitExceededException",
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        ),
        (
            {"BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
            "ValidationException",
            f"{WRONG}: Tables with vector indexes must be in PAY_PER_REQUEST mode",
        ),
    ],
)
def test_a_change_that_cannot_be_is_refused(refused, service, asked, code, message):
    assert refused(service, "UpdateTable", TableName="things", **asked) == (code, message)


def global_index(name, key):
    types = [{"AttributeName": each, "AttributeType": "S"} for each in ("tenant", key)]
    parts = [{"AttributeName": "tenant", "KeyType": "HASH"}, {"AttributeName": key, "KeyType": "RANGE"}]
    made = {"IndexName": name, "KeySchema": parts, "Projection": {"ProjectionType": "ALL"}}
    return {"AttributeDefinitions": types, "GlobalSecondaryIndexUpdates": [{"Create": made}]}


def test_another_index_can_have_neither_its_name_nor_the_vector_as_a_key(refused, service):
    taken = refused(service, "UpdateTable", TableName="things", **global_index("near", "lang"))
    assert taken == ("ValidationException", "Attempting to create an index which already exists: near")
    code, text = refused(service, "UpdateTable", TableName="things", **global_index("other", "e"))
    assert code == "ValidationException"
    assert text == (
        f"{WRONG}: Attributes cannot be redefined. Please check that your attribute has the same type as previously "
        "defined. Existing schema: VectorIndexSchema:[VectorAttribute: key{e:L:2}] "
        "New schema: Schema:[SchemaElement: key{e:S:RANGE}]"
    )


BAD_ITEMS = [
    (item("x", 1, 0, 0), "Invalid size for parameter e, Expected: 2, Actual: 3"),
    (item("x", 1, tenant=None), "Invalid size for parameter e, Expected: 2, Actual: 1"),
    (item("x", e={"NS": ["1", "2"]}), "Invalid type for parameter e, Expected: 32-bit floating point number list"),
    (
        item("x", e={"L": [{"N": "1"}, {"S": "1"}]}),
        "Invalid type for parameter e[1], Expected: 32-bit floating point number, Actual: S.",
    ),
    (
        item("x", "-4e38", 0),
        (
            f"Invalid value for parameter e[0], Value: -4{'0' * 38} is outside valid range "
            "[-3.4028235E38, 3.4028235E38]."
        ),
    ),
    (
        item("x", 1, 0, tenant=None) | {"tenant": {"N": "1"}},
        "Attribute 'tenant' type mismatch. Expected: S, Actual: N.",
    ),
    (item("x", 1, 0) | {"lang": {"BOOL": True}}, "Attribute 'lang' type mismatch. Expected: S, Actual: BOOL."),
]


@pytest.mark.parametrize(("wrong", "message"), BAD_ITEMS)
def test_an_item_whose_vector_or_search_attribute_is_wrong_is_refused_by_every_write(
    call, refused, service, wrong, message
):
    expected = f"{WRONG}. {message} IndexName: near"
    assert refused(service, "PutItem", TableName="things", Item=wrong) == ("ValidationException", expected)
    batch = {"RequestItems": {"things": [{"PutRequest": {"Item": wrong}}]}}
    assert refused(service, "BatchWriteItem", **batch)[1] == expected
    status, answer = service.execute(
        "TransactWriteItems", json.dumps({"TransactItems": [{"Put": {"TableName": "things", "Item": wrong}}]}).encode()
    )
    assert (status, json.loads(answer)["CancellationReasons"]) == (
        400,
        [{"Code": "ValidationError", "Message": expected}],
    )
    names = {f"#{name}": name for name in wrong if name != "pk"}
    update = {
        "UpdateExpression": "SET " + ", ".join(f"#{name} = :{name}" for name in wrong if name != "pk"),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {f":{name}": value for name, value in wrong.items() if name != "pk"},
    }
    assert refused(service, "UpdateItem", TableName="things", Key={"pk": {"S": "x"}}, **update)[1] == expected
    assert service.items("things") == []


def test_an_empty_partition_key_is_refused(refused, service):
    wrong = item("x", 1, 0) | {"tenant": {"S": ""}}
    message = refused(service, "PutItem", TableName="things", Item=wrong)[1]
    assert message.endswith("cannot contain an empty string value. IndexName: near, IndexKey: tenant")


CONDITION = "Invalid SearchConditionExpression"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            searched(1, 0, TopK=101),
            ("Provided TopK value '101' is out of valid range. The value must be between 1 and 100 inclusive"),
        ),
        (searched(1, 0, IndexName="nope"), "The table does not have the specified index: nope"),
        (searched(1, 0, 0), "Input search vector dimension 3 does not match vector index dimension 2"),
        (
            searched(SearchVector=[{"S": "1"}, {"N": "1"}]),
            (
                "Search vector contains invalid values. All values in the "
                "search vector must be a 32-bit floating-point number attribute"
            ),
        ),
        (
            searched("4e38", 0),
            (
                "Search vector contains invalid values. All values in the search vector must be a 32-bit "
                "floating-point number attribute"
            ),
        ),
        (searched("NaN", 0), "The parameter cannot be converted to a numeric value: NaN"),
        (searched(1, 0, condition=None), "SearchConditionExpression must be provided when SearchSchema has a HASH key"),
        (
            searched(1, 0, condition="lang = :tenant"),
            "SearchConditionExpression must be provided when SearchSchema has a HASH key",
        ),
        (
            searched(1, 0, condition="tenant = :tenant AND color = :tenant"),
            (
                "SearchConditionExpression must not contain any attributes that is not in SearchSchema. "
                "Invalid attribute: color"
            ),
        ),
        (
            searched(1, 0, values={":tenant": {"N": "1"}}),
            "Type of 'tenant' attribute in SearchConditionExpression (N) does not match type in search schema (S)",
        ),
        (
            searched(1, 0, condition="tenant = :tenant AND lang > :tenant"),
            f"{CONDITION}: Invalid comparator used in SearchConditionExpression",
        ),
        (
            searched(1, 0, condition="tenant = :tenant OR lang = :tenant"),
            f"{CONDITION}: Invalid comparator used in SearchConditionExpression",
        ),
        (
            searched(1, 0, condition="tenant = lang", values=None) | {"ExpressionAttributeValues": None},
            f"{CONDITION}: Invalid comparator used in SearchConditionExpression",
        ),
        (
            searched(1, 0, condition="tenant = :tenant AND lang.x = :tenant"),
            f"{CONDITION}: SearchConditionExpression cannot have conditions on nested attributes",
        ),
        (
            searched(1, 0, condition="tenant = :tenant AND tenant = :tenant"),
            f"{CONDITION}: SearchConditionExpression must only contain one condition per attribute",
        ),
        (
            searched(1, 0, values={":other": {"S": "x"}}),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:other}",
        ),
        (
            searched(1, 0, FilterExpression="a = :tenant"),
            "the simulated DynamoDB does not know the member FilterExpression",
        ),
    ],
)
def test_a_search_that_cannot_be_is_refused(refused, service, asked, message):
    assert refused(service, "SearchVectors", **asked) == ("ValidationException", message)


def test_other_reads_of_the_index_are_refused(refused, service):
    where = {"TableName": "things", "IndexName": "near"}
    key = {"KeyConditionExpression": "tenant = :t", "ExpressionAttributeValues": {":t": {"S": "a"}}}
    assert refused(service, "Query", **where, **key)[1] == "Query operation not supported on this index type."
    assert refused(service, "Scan", **where)[1] == "Scan operation not supported on this index type"
    statement = 'SELECT * FROM "things"."near"'
    assert refused(service, "ExecuteStatement", Statement=statement)[1] == (
        "Scan operation not supported on this index type"
    )


NUMBERS = st.floats(-100, 100, width=32).map(repr)
VECTORS = st.one_of(st.none(), st.tuples(NUMBERS, NUMBERS))
WRITES = st.lists(st.tuples(st.sampled_from("abcd"), VECTORS, st.sampled_from([None, "x", "y"])), max_size=12)


@given(WRITES, WRITES, st.tuples(NUMBERS, NUMBERS), st.sampled_from(["COSINE", "EUCLIDEAN", "DOT_PRODUCT"]))
@settings(max_examples=200, deadline=None)
def test_a_search_finds_exactly_the_items_that_have_the_key_and_a_vector(before, after, near, distance):
    service = SimulatedDynamoDB()

    def ask(operation, **body):
        status, answer = service.execute(operation, json.dumps(body).encode())
        assert status == 200, answer
        return json.loads(answer)

    def write(writes):
        for key, values, tenant in writes:
            ask("PutItem", TableName="things", Item=item(key, *(values or ()), tenant=tenant))

    ask("CreateTable", **table(index(DistanceFunction=distance)))
    write(before)
    snapshot = service.snapshot()
    write(after)
    service.restore(snapshot)
    write(after)
    last = {key: (values, tenant) for key, values, tenant in (*before, *after)}
    for tenant in ("x", "y"):
        found = ask("SearchVectors", **searched(*near, tenant=tenant))["SearchResults"]
        expected = {key for key, (values, other) in last.items() if values and other == tenant}
        assert {each["Item"]["pk"]["S"] for each in found} == expected
        scores = [each["Score"] for each in found]
        assert scores == sorted(scores, reverse=distance == "DOT_PRODUCT")
        for each in found:
            one = array("f", map(float, near))
            other = array("f", map(float, last[each["Item"]["pk"]["S"]][0]))
            assert math.isclose(each["Score"], score_of(distance, one, other), abs_tol=1e-6, rel_tol=1e-6)


def score_of(distance, one, other):
    product = sum(left * right for left, right in zip(one, other, strict=True))
    if distance == "DOT_PRODUCT":
        return product
    if distance == "EUCLIDEAN":
        return math.sqrt(sum((left - right) ** 2 for left, right in zip(one, other, strict=True)))
    lengths = math.hypot(*one) * math.hypot(*other)
    return 1 - product / lengths if lengths else 1.0


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=2))
@settings(max_examples=300, deadline=None)
def test_a_vector_comes_back_as_the_same_32_bit_floats(values):
    service = SimulatedDynamoDB()

    def ask(operation, **body):
        status, answer = service.execute(operation, json.dumps(body).encode())
        assert status == 200, answer
        return json.loads(answer)

    ask("CreateTable", **table(index()))
    ask("PutItem", TableName="things", Item=item("a", *map(repr, values)))
    [found] = ask("SearchVectors", **searched(1, 0, ProjectionExpression="e"))["SearchResults"]
    texts = [each["N"] for each in found["Item"]["e"]["L"]]
    assert array("f", map(float, texts)) == array("f", values)
    for text, value in zip(texts, values, strict=True):
        digits = len(text.replace(".", "").strip("-0"))
        shorter = array("f", [float(f"{value:.{max(digits - 1, 1)}g}")])[0]
        assert digits < 2 or shorter != value or abs(value) < 1.2e-38  # where they have fewer than 24 bits


def test_an_index_that_is_being_built_cannot_be_searched(call, refused):
    now = [1000.0]
    service = SimulatedDynamoDB(lambda: now[0])
    service.take_time(Durations(create_table=0, allocate_index=10, backfill=20, lag=0).draw, 1)
    call(service, "CreateTable", **table(types={"pk": "S"}, VectorIndexes=None))
    call(service, "PutItem", TableName="things", Item=item("a", 1, 0))
    made = {"AttributeDefinitions": table(index())["AttributeDefinitions"], "VectorIndexUpdates": [{"Create": index()}]}
    call(service, "UpdateTable", TableName="things", **made)
    seen = []
    for _ in range(3):
        [found] = call(service, "DescribeTable", TableName="things")["Table"]["VectorIndexes"]
        seen.append((found["IndexStatus"], found.get("Backfilling", False)))
        if seen[-1] != ("ACTIVE", False):
            assert (
                refused(service, "SearchVectors", **searched(1, 0))[1] == "Cannot search backfilling vector index: near"
            )
        now[0] += 15
    assert seen == [("CREATING", False), ("CREATING", True), ("ACTIVE", False)]
    assert len(call(service, "SearchVectors", **searched(1, 0))["SearchResults"]) == 1
