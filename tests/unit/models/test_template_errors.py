"""Every template that can be wrong is refused when the class is made, with the model, the field and the remedy."""

from datetime import datetime
from typing import Annotated, Any

import pytest

from dynamap_async import (
    EPOCH_MILLISECONDS,
    EPOCH_SECONDS,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    SortKey,
    TimeToLive,
    Unique,
    Version,
    attr,
    include,
    template,
)
from dynamap_async.errors import ModelDefinitionError


def made(table="stores", **body: Any) -> Any:
    annotations = {name: value[0] for name, value in body.items() if isinstance(value, tuple)}
    values = {name: value[1] for name, value in body.items() if isinstance(value, tuple) and len(value) > 1}
    beside = {name: value for name, value in body.items() if not isinstance(value, tuple)}
    namespace = {"__module__": __name__, "__qualname__": "Store", "__annotations__": annotations, **values, **beside}
    return type(Model)("Store", (Model,), namespace, table=table)


COUNTRY = (Attr[str],)
CITY = (Attr[str | None], attr(default=None))
KEY = (PartitionKey[str],)
WRONG = {
    "a field that there is not": (
        {"country": COUNTRY, "pk": (PartitionKey[str], template("{contry}"))},
        r"Store\.pk: the template '\{contry\}' names 'contry', which is not a field; the fields are country",
    ),
    "itself": ({"pk": (PartitionKey[str], template("{pk}"))}, "which is the key itself"),
    "another computed field": (
        {
            "country": COUNTRY,
            "pk": (PartitionKey[str], template("{country}")),
            "sk": (SortKey[str], template("{pk}#x")),
        },
        r"names pk, which is computed itself; write out its own template '\{country\}'",
    ),
    "each other": (
        {"pk": (PartitionKey[str], template("{sk}")), "sk": (SortKey[str], template("{pk}"))},
        "which is computed itself",
    ),
    "a type without text": (
        {"tags": (Attr[set[str]],), "pk": (PartitionKey[str], template("{tags}"))},
        r"names tags, which is set\[str\], which has no text form",
    ),
    "a stray brace": ({"pk": (PartitionKey[str], template("a{"))}, "has a single '{'"),
    "no separator": (
        {"a": COUNTRY, "b": COUNTRY, "pk": (PartitionKey[str], template("{a}{b}"))},
        "does not show where a ends",
    ),
    "a pattern that is not text": ({"pk": (PartitionKey[str], template(7))}, "a pattern is a string"),
    "an optional part of the table's key": (
        {"city": CITY, "pk": (PartitionKey[str], template("{city}"))},
        "names city, which may be None, and every item needs its key; declare it without None",
    ),
    "an optional part of a key that is never None": (
        {"id": KEY, "city": CITY, "place": (Attr[str], template("{city}"))},
        r"declare place as Attr\[str \| None\]",
    ),
    "a key that is not text": (
        {"number": (Attr[int],), "pk": (PartitionKey[int], template("{number}"))},
        "a template makes text, but the field is int",
    ),
    "a version": (
        {"id": KEY, "v": (Version[int], attr(default=0)), "place": (Attr[str], template("{v:06d}"))},
        "which changes with each write, unseen by updates",
    ),
    "a time of each write in the table's key": (
        {"at": (Attr[str], attr(on_update=str)), "pk": (PartitionKey[str], template("{at}"))},
        r"changes with each write \(on_update\)",
    ),
    "a time that is stored without its fraction": (
        {
            "pk": KEY,
            "at": (Attr[datetime], attr(stored_as=EPOCH_SECONDS)),
            "when": (Attr[str], template("at:{at}")),
        },
        r"names at, which is stored without what follows its second, .* write \{at:second\}",
    ),
    "a time that is stored down to its millisecond": (
        {
            "pk": KEY,
            "at": (Attr[datetime], attr(stored_as=EPOCH_MILLISECONDS)),
            "when": (Attr[str], template("{at}")),
        },
        r"write \{at:millisecond\}",
    ),
    "a time to live, which has whole seconds": (
        {"pk": KEY, "ends": (TimeToLive[datetime],), "when": (Attr[str], template("{ends:millisecond}"))},
        r"write \{ends:second\}",
    ),
    "a template inside the annotation": (
        {"country": COUNTRY, "pk": (PartitionKey[Annotated[str, template("{country}")]],)},
        "write it behind the equals sign",
    ),
    "an unstored field that no key holds": (
        {"id": KEY, "country": (Attr[str], attr(stored=False))},
        "stands in no template, so it would be lost",
    ),
    "an unstored field that a key holds in another case": (
        {"country": (Attr[str], attr(stored=False)), "pk": (PartitionKey[str], template("{country:upper}"))},
        "cannot be read back from pk",
    ),
    "an unstored field that may be None": (
        {"id": KEY, "city": (Attr[str | None], attr(stored=False)), "place": (Attr[str | None], template("{city}"))},
        "may be None, and then there is no key to read it back from",
    ),
    "an unstored key": ({"pk": (PartitionKey[str], attr(stored=False))}, "must be stored"),
    "an index of an unstored field": (
        {
            "country": (Attr[str], attr(stored=False)),
            "pk": (PartitionKey[str], template("{country}")),
            "by_country": GlobalIndex(partition_key="country"),
        },
        r"Store\.by_country: names country, which is not stored by itself; name pk",
    ),
    "an index that includes an unstored field": (
        {
            "country": (Attr[str], attr(stored=False)),
            "city": CITY,
            "pk": (PartitionKey[str], template("{country}")),
            "by_city": GlobalIndex(partition_key="city", projection=include("country")),
        },
        "names country, which is not stored by itself",
    ),
    "a unique key that is computed": (
        {
            "id": KEY,
            "country": COUNTRY,
            "place": (Attr[str], template("x#{country}")),
            "by_place": Unique("place"),
        },
        "names 'place', which is computed; name the stored fields that the key is made of",
    ),
}


@pytest.mark.parametrize(("body", "problem"), WRONG.values(), ids=WRONG.keys())
def test_a_definition_that_names_this_is_refused(body, problem):
    with pytest.raises(ModelDefinitionError, match=problem) as caught:
        made(**body)
    assert caught.value.model == "Store"


def test_a_nested_model_has_no_keys_to_compute():
    with pytest.raises(ModelDefinitionError, match="the model has no table"):
        made(table=None, country=COUNTRY, place=(Attr[str], template("{country}")))


def test_a_time_cut_off_where_its_stored_form_ends_is_a_part():
    pk, at = (PartitionKey[str],), (Attr[datetime], attr(stored_as=EPOCH_SECONDS))
    model = made(pk=pk, at=at, when=(Attr[str], template("{at:second}")), day=(Attr[str], template("{at:day}")))
    item = model(pk="a", at="2024-03-09T08:07:06.5Z")
    assert (item.when, item.day) == ("2024-03-09T08:07:06Z", "2024-03-09")
