"""How vector indexes are defined, described and searched.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_SearchVectors.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamap_async.limits import BATCH_ANSWER_BYTES
from dynamap_async.simulated import wire
from dynamap_async.simulated.constraints import Structure, anything, choice, listing, number, text
from dynamap_async.simulated.errors import Refused, invalid, invalid_value
from dynamap_async.simulated.expressions.conditions import At, Both, Comparison, Condition, Given, read_condition
from dynamap_async.simulated.expressions.paths import Path, projected, read_projection
from dynamap_async.simulated.expressions.reader import Placeholders
from dynamap_async.simulated.keys import readable
from dynamap_async.simulated.meters import LEAST_VECTOR_BYTES
from dynamap_async.simulated.shapes import (
    CONSUMED,
    EXPRESSION,
    INDEX_NAME,
    PLACEHOLDERS,
    PROJECTION,
    TABLE_NAME,
    projected_names,
)
from dynamap_async.simulated.values import Value, admit
from dynamap_async.simulated.vector_index import Attribute, VectorIndex, vector_of, written_vector

if TYPE_CHECKING:
    from dynamap_async.simulated.service import Service
    from dynamap_async.simulated.store import Table

MOST_INDEXES: Final = 5
MOST_DIMENSIONS: Final = 4096
MOST_FILTERS: Final = 18
MOST_RESULTS: Final = 100
VECTOR_INDEX: Final = Structure(
    {
        "IndexName!": INDEX_NAME,
        "VectorAttribute!": Structure({"AttributeName!": text(1, 255)}),
        "SearchSchema": listing(
            Structure({"AttributeName!": text(1, 255), "SearchSchemaElementType!": choice("HASH", "INLINE_FILTER")}), 1
        ),
        "Projection!": PROJECTION,
        "Dimensions!": number(1),
        "DistanceFunction!": choice("COSINE", "DOT_PRODUCT", "EUCLIDEAN"),
    }
)
VECTOR_INDEX_UPDATES: Final = listing(
    Structure({"Create": VECTOR_INDEX, "Delete": Structure({"IndexName!": INDEX_NAME})})
)
SEARCH_VECTORS: Final = Structure(
    {
        "TableName!": TABLE_NAME,
        "IndexName!": INDEX_NAME,
        "SearchVector!": listing(anything, 1),
        "TopK!": number(1),
        "SearchConditionExpression": EXPRESSION,
        "ProjectionExpression": EXPRESSION,
        "ReturnConsumedCapacity": CONSUMED,
        **PLACEHOLDERS,
    }
)
_PARAMETER: Final = "SearchConditionExpression"


def add_vector_index(table: Table, given: dict[str, Any], definitions: dict[str, str], mode: str) -> VectorIndex:
    """Add a vector index that a request describes to a table, and put the items in it that fit.

    Args:
        table: the table.
        given: its description.
        definitions: name of an attribute -> its type.
        mode: the billing mode of the table.

    Raises:
        Refused: it is wrong.
    """
    name, attribute, dimensions = given["IndexName"], given["VectorAttribute"]["AttributeName"], given["Dimensions"]
    if mode != "PAY_PER_REQUEST":
        raise invalid_value("Vector indexes are only supported for PAY_PER_REQUEST tables")
    if name in table.indexes or name in table.vectors:
        raise invalid_value(f"Duplicate index name: {name}")
    if len(table.vectors) == MOST_INDEXES:
        raise invalid_value(f"VectorIndex count exceeds the per-table limit of {MOST_INDEXES}")
    if dimensions > MOST_DIMENSIONS:
        raise invalid_value(f"Number of dimensions must be between 1 and {MOST_DIMENSIONS} inclusive.")
    if attribute in definitions:
        raise invalid_value(
            f"Conflicting attribute definition for '{attribute}'. An attribute cannot be defined in "
            "AttributeDefinitions when used as a VectorAttribute."
        )
    if any(each.attribute == attribute and each.dimensions != dimensions for each in table.vectors.values()):
        raise invalid_value(
            f"Conflicting attribute definition for '{attribute}'. All VectorIndexes on the same vector attribute must "
            "use the same dimensions."
        )
    hashes, filters = _schema(given.get("SearchSchema") or [], definitions)
    attributes = projected_names(given["Projection"], (part[0] for part in (*table.parts, *hashes, *filters)))
    index = VectorIndex(
        name, attribute, int(dimensions), given["DistanceFunction"], hashes[0] if hashes else None, filters, attributes
    )
    table.build_vectors(index)
    return index


def _schema(
    schema: list[dict[str, str]], definitions: dict[str, str]
) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...]]:
    """Return the partition key of a vector index, if it has one, and what it can be filtered by."""
    names = [each["AttributeName"] for each in schema]
    kinds = [each["SearchSchemaElementType"] for each in schema]
    for kind, most in (("HASH", 1), ("INLINE_FILTER", MOST_FILTERS)):
        if kinds.count(kind) > most:
            raise invalid_value(
                f"Value '{kinds.count(kind)}' at 'SearchSchema' failed to satisfy constraint: Member must have {kind} "
                f"count less than or equal to {most}"
            )
    if len(set(names)) != len(names):
        raise invalid_value("SearchSchema contains a duplicate AttributeName")
    if not definitions.keys() >= set(names):
        raise invalid_value("One element in SearchSchema is not defined in attribute definitions")
    found = [
        tuple(Attribute(name, definitions[name]) for name, each in zip(names, kinds, strict=True) if each == kind)
        for kind in ("HASH", "INLINE_FILTER")
    ]
    return found[0], found[1]


def described_vector_index(index: VectorIndex, given: dict[str, Any], arn: str) -> dict[str, Any]:
    """Return what DescribeTable says of a vector index.

    Args:
        index: the index.
        given: the request that made it.
        arn: the ARN of its table.
    """
    return {
        **given,
        "IndexSizeBytes": index.size,
        "ItemCount": len(index.entries),
        "IndexArn": f"{arn}/index/{index.name}",
    }


def search_vectors(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out SearchVectors."""
    if body["TopK"] > MOST_RESULTS:
        raise invalid(
            f"Provided TopK value '{body['TopK']}' is out of valid range. The value must be between 1 and "
            f"{MOST_RESULTS} inclusive"
        )
    for element in body["SearchVector"]:
        admit(element)
    known = Placeholders(body, _PARAMETER, "ProjectionExpression")
    wanted: dict[str, Value] = {}
    if (given := body.get(_PARAMETER)) is not None:
        condition: Condition = known.read(read_condition, given, _PARAMETER)
        wanted = _equalities(condition, dict(known.values))
    paths: tuple[Path, ...] | None = None
    if (given := body.get("ProjectionExpression")) is not None:
        paths = known.read(read_projection, given, "ProjectionExpression")
    known.all_used()
    table = service.table(body["TableName"])
    index = readable(table.vectors, body["IndexName"])
    near = vector_of(body["SearchVector"])
    if near is None:
        raise invalid(
            "Search vector contains invalid values. All values in the search vector must be a 32-bit floating-point "
            "number attribute"
        )
    if len(near) != index.dimensions:
        raise invalid(
            f"Input search vector dimension {len(near)} does not match vector index dimension {index.dimensions}"
        )
    _admit_wanted(index, wanted)
    if service.lag is not None:
        index = service.lag.seen_vectors(index, service.lag.age())
    found, looked_at = index.nearest(near, int(body["TopK"]), wanted)
    texts = [
        b'{"Item":%s,"Score":%s}' % (_cut(index, each.entry.text, each.entry.vector, paths), wire.write(each.score))
        for each in found
    ]
    if sum(map(len, texts)) > BATCH_ANSWER_BYTES:
        raise invalid("The results of this search have more than 16 MB: project fewer attributes, or lower TopK")
    capacity = {"VectorSearchRequestBytes": float(max(looked_at, LEAST_VECTOR_BYTES))}
    return {
        "SearchResults": wire.listed(texts),
        "ConsumedCapacity": None if body.get("ReturnConsumedCapacity", "NONE") == "NONE" else capacity,
    }


def _wrong(text_: str) -> Refused:
    return invalid(f"Invalid {_PARAMETER}: {text_}")


def _equalities(condition: Condition, values: dict[str, Value]) -> dict[str, Value]:
    """Return the attributes of a condition, and what each has to be."""
    if isinstance(condition, Both) and condition.word == "AND":
        one, other = _equalities(condition.left, values), _equalities(condition.right, values)
        if one.keys() & other.keys():
            raise _wrong("SearchConditionExpression must only contain one condition per attribute")
        return one | other
    if isinstance(condition, Comparison) and condition.sign == "=":
        sides = condition.left, condition.right
        for at, given in (sides, sides[::-1]):
            if isinstance(at, At) and isinstance(given, Given):
                [name, *inside] = at.path
                if inside:
                    raise _wrong("SearchConditionExpression cannot have conditions on nested attributes")
                return {str(name): values[given.placeholder]}
    raise _wrong("Invalid comparator used in SearchConditionExpression")


def _admit_wanted(index: VectorIndex, wanted: dict[str, Value]) -> None:
    types = {part.name: part.type for part in index.schema}
    for name, value in wanted.items():
        if name not in types:
            raise invalid(
                f"SearchConditionExpression must not contain any attributes that is not in SearchSchema. "
                f"Invalid attribute: {name}"
            )
        [actual] = value
        if actual != types[name]:
            raise invalid(
                f"Type of '{name}' attribute in SearchConditionExpression ({actual}) does not match type in search "
                f"schema ({types[name]})"
            )
    if index.hash is not None and index.hash.name not in wanted:
        raise invalid("SearchConditionExpression must be provided when SearchSchema has a HASH key")


def _cut(index: VectorIndex, item: bytes, vector: Any, paths: tuple[Path, ...] | None) -> bytes:
    """Return the JSON of what a search gives of an item. The vector is there where it was asked for."""
    if paths is None:
        return item
    whole = wire.read(item)
    if any(path[0] == index.attribute for path in paths):
        whole[index.attribute] = written_vector(vector)
    return wire.write(projected(whole, paths))
