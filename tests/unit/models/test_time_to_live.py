"""What a time to live may be given as, and which models may hide expired items."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from dynamap_async import Attr, Model, PartitionKey, TimeToLive, attr
from dynamap_async.errors import EncodeError, ModelDefinitionError
from dynamap_async.models import definition_of

AT = datetime(2026, 2, 28, 12, 0, 7, 999_999, tzinfo=UTC)


class Visit(Model, table="visits"):
    id: PartitionKey[str]
    ends: TimeToLive[datetime | None] = attr(default=None)


class Count(Model, table="counts"):
    id: PartitionKey[str]
    ends: TimeToLive[int | None] = attr(default=None)


def stored(item: Model) -> Any:
    return definition_of(type(item)).items.encode(item).get("ends")


@pytest.mark.parametrize("model", [Visit, Count])
def test_a_duration_counts_from_now(model: type[Any]) -> None:
    before = int(datetime.now(UTC).timestamp())
    item = model(id="a", ends=timedelta(days=1))
    after = int(datetime.now(UTC).timestamp())
    assert before + 86_400 <= int(stored(item)["N"]) <= after + 86_400


def test_a_duration_is_a_time_once_the_item_is_made() -> None:
    ends = Visit(id="a", ends=timedelta(hours=-1)).ends
    assert isinstance(ends, datetime)
    assert (ends.tzinfo, ends.microsecond) == (UTC, 0)


@pytest.mark.parametrize("model", [Visit, Count])
@pytest.mark.parametrize(
    "given",
    [AT, AT.astimezone(timezone(timedelta(hours=5, minutes=30))), int(AT.timestamp())],
    ids=["utc", "another zone", "seconds"],
)
def test_any_aware_time_is_stored_as_the_same_second(model: type[Any], given: Any) -> None:
    assert stored(model(id="a", ends=given)) == {"N": str(int(AT.timestamp()))}


def test_a_time_without_a_zone_is_refused_before_it_is_stored() -> None:
    with pytest.raises(EncodeError, match="add tzinfo=UTC"):
        stored(Visit(id="a", ends=AT.replace(tzinfo=None)))


def test_a_time_without_a_zone_is_no_number_of_seconds() -> None:
    with pytest.raises(ValidationError, match="valid integer"):
        Count(id="a", ends=AT.replace(tzinfo=None))


def test_a_duration_that_is_assigned_later_is_refused() -> None:
    item = Visit(id="a")
    item.ends = timedelta(days=1)
    with pytest.raises(EncodeError, match=r"Visit.ends: datetime expected, got timedelta"):
        stored(item)


def test_what_is_read_is_what_was_stored() -> None:
    [read] = definition_of(Visit).items.decode([{"id": {"S": "a"}, "ends": {"N": "1772280007"}}])
    assert read.ends == AT.replace(microsecond=0)


def test_no_model_hides_expired_items_unasked() -> None:
    assert definition_of(Visit).expiry is None


def test_a_model_hides_expired_items_by_its_time_to_live() -> None:
    class Hiding(Model, table="visits", hide_expired=True):
        id: PartitionKey[str]
        ends: TimeToLive[datetime] = attr(name="ttl")

    assert definition_of(Hiding).expiry is definition_of(Hiding).fields["ends"]


def test_hiding_is_inherited_and_can_be_turned_off_again() -> None:
    class Base(Model, abstract=True, hide_expired=True):
        ends: TimeToLive[datetime | None] = attr(default=None)

    class Hiding(Base, table="visits"):
        id: PartitionKey[str]

    class Showing(Base, table="visits", hide_expired=False):
        id: PartitionKey[str]

    assert definition_of(Hiding).expiry is not None
    assert definition_of(Showing).expiry is None


def test_hiding_without_a_time_to_live_is_refused() -> None:
    with pytest.raises(
        ModelDefinitionError, match="hides expired items, but has no TimeToLive field; declare one, such as expires_at:"
    ):

        class Wrong(Model, table="wrong", hide_expired=True):
            id: PartitionKey[str]


def test_hiding_without_a_table_is_refused() -> None:
    with pytest.raises(ModelDefinitionError, match="hides expired items, but has no table"):

        class Wrong(Model, hide_expired=True):
            value: Attr[int]


def test_hiding_is_a_truth_value() -> None:
    settings: dict[str, Any] = {"table": "wrong", "hide_expired": "yes"}
    with pytest.raises(ModelDefinitionError, match="hide_expired='yes' must be True or False"):

        class Wrong(Model, **settings):
            id: PartitionKey[str]
