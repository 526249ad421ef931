# pyright: reportUnusedClass=false
"""Wrong programs that type checkers accept, each with the error that the library raises instead.

mypy, and most other checkers, accept every line here; a mark names those that refuse one, such as `error pyright`.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from models import Address, Audited, Entity, Retweet, Tweet, User
from pydantic import Field

from dynamap_async import (
    Attr,
    Create,
    Delete,
    Find,
    Get,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Put,
    Query,
    Scan,
    Session,
    SortKey,
    TimeToLive,
    Update,
    Version,
    attr,
    include,
    path,
)
from dynamap_async.errors import EncodeError, ExpressionError, ModelDefinitionError, OperationError, OutOfRangeError


class Case(NamedTuple):
    """A wrong program, and how the library refuses it."""

    program: Callable[[], Any]
    error: type[Exception]
    message: str


CANNOT_REFUSE: list[Case] = []
F = TypeVar("F", bound=Callable[[], Any])


def raises(error: type[Exception], message: str) -> Callable[[F], F]:
    def register(program: F) -> F:
        CANNOT_REFUSE.append(Case(program, error, message))
        return program

    return register


def a_tweet() -> Tweet:
    return Tweet(user_id="a", tweet_id=1, posted_at=datetime.now(UTC))


# Python decides and, or, not and chains before the library sees them; only their truth value can be refused.

NO_TRUTH_VALUE = (
    "is neither true nor false in Python: DynamoDB checks it for each item. Combine conditions with &, | and ~"
)


@raises(ExpressionError, NO_TRUTH_VALUE)
def conditions_joined_by_and() -> object:
    return Query(Tweet).where(Tweet.likes > 3 and Tweet.text == "x")  # error ty zuban


@raises(ExpressionError, NO_TRUTH_VALUE)
def conditions_joined_by_or() -> object:
    return Query(Tweet).where(Tweet.likes > 3 or Tweet.text == "x")  # error ty zuban


@raises(ExpressionError, "write x.between(low, high) instead of low <= x <= high")
def chained_comparison() -> object:
    return Query(Tweet).where(1 < Tweet.likes < 5)  # error ty


@raises(ExpressionError, NO_TRUTH_VALUE)
def condition_as_truth() -> object:
    return 1 if Tweet.likes > 3 else 2  # error pyright ty


@raises(ExpressionError, "Tweet.likes is a field, not a condition; write Tweet.likes == True, or .exists()")
def field_as_truth() -> object:
    return 1 if Tweet.likes else 2  # error pyright ty


@raises(ExpressionError, "Tweet.home is a field, not a condition; write path(Tweet.home).exists()")
def document_as_truth() -> object:
    return 1 if Tweet.home else 2


@raises(ExpressionError, "write Tweet.tags.contains('a') instead of 'a' in Tweet.tags")
def membership_as_truth() -> object:
    return 1 if "a" in Tweet.tags else 2


# A condition does not carry its model in its type: nested paths, whose owner is the nested model, rule that out.


@raises(ExpressionError, "User.name is a field of User, but the operation is on Tweet")
def field_of_another_model() -> object:
    return Query(Tweet).where(User.name == "x")


@raises(ExpressionError, "User.name is a field of User, but the operation is on Tweet")
def field_of_another_model_in_a_scan() -> object:
    return Scan(Tweet).where((Tweet.likes > 3) & (User.name == "x"))


@raises(ExpressionError, "User.name is a field of User, but the operation is on Tweet")
def field_of_another_model_guarding_a_put() -> object:
    return Put(a_tweet(), where=User.name == "x")


@raises(ExpressionError, "User.name is a field of User, but the operation is on Tweet")
def field_of_another_model_guarding_a_create() -> object:
    return Create(a_tweet(), where=User.name == "x")


@raises(ExpressionError, "User.name is a field of User, but the operation is on Tweet")
def field_of_another_model_guarding_a_delete() -> object:
    return Delete(Tweet, "a", 1, where=User.name == "x")


@raises(ExpressionError, "Retweet.original is a field of Retweet, but the operation is on Tweet")
def field_of_another_model_compared_with() -> object:
    return Query(Tweet).where(Tweet.likes == Retweet.original)


@raises(ExpressionError, "Retweet.original is a field of Retweet, but the operation is on Tweet")
def field_of_a_subclass() -> object:
    return Query(Tweet).where(Retweet.original > 3)


@raises(ExpressionError, "User.name is a field of User, but the operation is on Tweet")
def field_of_another_model_selected() -> object:
    return Query(Tweet).select(User.name)


@raises(ExpressionError, "Address.city is a field of Address, but the operation is on Tweet")
def field_of_a_document_without_its_place() -> object:
    return Query(Tweet).where(Address.city == "x")


# A document's field is its class to a checker, so the class itself, or any other, passes for a field.


@raises(ExpressionError, "is not a field of a model; write Model.field")
def class_selected() -> object:
    return Query(Tweet).select(Address)


@raises(ExpressionError, "is not a field of a model; write Model.field")
def class_as_path() -> object:
    return path(str).exists()


# Key values are checked against the types that any key may have, not against the model's own.


@raises(EncodeError, "Tweet.user_id: str expected, got int 5")
def partition_key_of_another_type() -> object:
    return Get(Tweet, 5, 7)


@raises(EncodeError, "Tweet.tweet_id: int expected, got str 'x'")
def sort_key_of_another_type() -> object:
    return Find(Tweet, "a", "x")


@raises(OperationError, "the key of Tweet is (user_id: str, tweet_id: int); got 'a'")
def sort_key_left_out() -> object:
    return Get(Tweet, "a")


@raises(OperationError, "the key of Tweet is (user_id: str, tweet_id: int); got 'a'")
def sort_key_left_out_of_a_delete() -> object:
    return Delete(Tweet, "a")


@raises(OperationError, "the key of Tweet is (user_id: str, tweet_id: int); got ('a', 7)")
def pair_of_values_for_one() -> object:
    return Get(Tweet, ("a", 7))


@raises(OperationError, "the key of User is (name: str); got 'a', 3")
def sort_key_too_many() -> object:
    return Get(User, "a", 3)


# Class keywords: most checkers skip __init_subclass__ where the metaclass is not type.


@raises(ModelDefinitionError, "Shop: table=5 is not a table name")
def table_that_is_no_name() -> None:
    class Shop(Model, table=5):  # error ty
        id: PartitionKey[str]


@raises(ModelDefinitionError, "Shop: settings={'stream': 'keys'} is not a TableSettings")
def settings_that_are_no_settings() -> None:
    class Shop(Model, table="shops", settings={"stream": "keys"}):  # error ty
        id: PartitionKey[str]


@raises(ModelDefinitionError, "unknown class keyword; did you mean table?")
def misspelt_class_keyword() -> None:
    class Shop(Model, tabel="shops"):
        id: PartitionKey[str]


# Fields named by strings.


@raises(ModelDefinitionError, "Shop.by_name: names the field 'nam', which Shop does not have; did you mean 'name'?")
def index_on_an_unknown_field() -> None:
    class Shop(Model, table="shops"):
        name: PartitionKey[str]
        by_name = GlobalIndex(partition_key="nam")


@raises(ModelDefinitionError, "Shop.by_town: names the field 'town', which Shop does not have")
def local_index_on_an_unknown_field() -> None:
    class Shop(Model, table="shops"):
        name: PartitionKey[str]
        street: SortKey[str]
        by_town = LocalIndex(sort_key="town")


@raises(ModelDefinitionError, "Shop.by_name: names the field 'town', which Shop does not have")
def projection_of_an_unknown_field() -> None:
    class Shop(Model, table="shops"):
        name: PartitionKey[str]
        by_name = GlobalIndex(partition_key="name", projection=include("town"))


# Fields whose type or name makes no sense to DynamoDB.


@raises(ModelDefinitionError, "Shop.name: is the partition key and holds list[str], stored as L")
def key_of_a_type_that_has_no_order() -> None:
    class Shop(Model, table="shops"):
        name: PartitionKey[list[str]]


@raises(ModelDefinitionError, "Shop.visits: the default 'many' does not fit: int expected")
def default_of_another_type() -> None:
    class Shop(Model, table="shops"):
        name: PartitionKey[str]
        visits: Attr[int] = "many"


@raises(ModelDefinitionError, "Shop.visits: the default 'many' does not fit: int expected")
def default_of_another_type_in_a_field_of_pydantic() -> None:
    class Shop(Model, table="shops"):
        name: PartitionKey[str]
        visits: Attr[int] = Field(default="many")


@raises(ModelDefinitionError, "Shop.version: a Version must be an int, not str")
def version_that_does_not_count() -> None:
    class Shop(Model, table="shops"):
        name: PartitionKey[str]
        version: Version[str] = attr(default="")


@raises(ModelDefinitionError, "name and town are both PartitionKey; a table has one")
def two_partition_keys() -> None:
    class Shop(Model, table="shops"):
        name: PartitionKey[str]
        town: PartitionKey[str]


@raises(ModelDefinitionError, "expires_at and closes_at are both TimeToLive; a table has one")
def two_times_to_live() -> None:
    class Shop(Model, table="shops"):
        name: PartitionKey[str]
        expires_at: TimeToLive[datetime]
        closes_at: TimeToLive[datetime]


@raises(ModelDefinitionError, "hides expired items, but has no TimeToLive field; declare one, such as expires_at:")
def hiding_what_never_expires() -> None:
    class Shop(Model, table="shops", hide_expired=True):
        name: PartitionKey[str]


@raises(ModelDefinitionError, "has no partition key; mark one field PartitionKey[...]")
def no_partition_key() -> None:
    class Shop(Model, table="shops"):
        name: Attr[str]


# Order against None: an Optional field may be compared with None, but not ordered.


@raises(ExpressionError, "Tweet.city cannot be ordered against None; use .missing() or .exists()")
def ordered_against_none() -> object:
    return Tweet.city > None


@raises(ExpressionError, "Tweet.city cannot be ordered against None; use .missing() or .exists()")
def between_none() -> object:
    return Tweet.city.between(None, "x")


@raises(ExpressionError, "Tweet.tags is stored as SS, which has no order")
def order_of_a_set() -> object:
    return Tweet.tags > {"a"}


# Equality with another type is a plain bool to checkers, which only where() refuses.


@raises(EncodeError, "Tweet.likes: int expected, got str 'x'")
def equality_with_another_type() -> object:
    return [Tweet.likes == "x"]  # error zuban


# Abstract bases and documents are models like others to a checker.

ABSTRACT = "Can't instantiate abstract class Audited"


@raises(TypeError, ABSTRACT)
def abstract_base_made() -> object:
    return Audited(created_at=datetime.now(UTC))


@raises(TypeError, ABSTRACT)
def abstract_base_validated() -> object:
    return Audited.model_validate({"created_at": datetime.now(UTC)})


@raises(ModelDefinitionError, "Audited has no table, so it cannot be queried")
def abstract_base_queried() -> object:
    return Query(Audited).explain()


@raises(ModelDefinitionError, "Audited has no table, so it cannot be queried")
def abstract_base_scanned() -> object:
    return Scan(Audited).explain()


@raises(ModelDefinitionError, "Entity[UUID] has no table, so it cannot be read")
def generic_base_read() -> object:
    return Get(Entity[UUID], UUID(int=1))


@raises(ModelDefinitionError, "Address has no table, so it cannot be written")
def document_written() -> object:
    return Put(Address(city="x"))


@raises(ModelDefinitionError, "Address has no table, so it cannot be queried")
def document_queried() -> object:
    return Query(Address).explain()


# Updates.


@raises(ExpressionError, "User.name is a field of User, but the operation is on Tweet")
def field_of_another_model_in_an_update() -> object:
    return Update(Tweet, "a", 1).set(User.name, "x")


@raises(ExpressionError, "Tweet.user_id is part of the item's key, which never changes")
def key_that_is_set() -> object:
    return Update(Tweet, "a", 1).set(Tweet.user_id, "x")


@raises(ExpressionError, "Tweet.version is counted by the session")
def version_that_is_set() -> object:
    return Update(Tweet, "a", 1).set(Tweet.version, 3)


@raises(ExpressionError, "the update changes Tweet.likes twice")
def field_that_is_changed_twice() -> object:
    return Update(Tweet, "a", 1).set(Tweet.likes, 1).add(Tweet.likes, 1)


@raises(EncodeError, "Tweet.limited: Input should be greater than or equal to 0")
def number_out_of_range() -> object:
    return Update(Tweet, "a", 1).set(Tweet.limited, -1)


@raises(ExpressionError, "Tweet.posted_at is required, so an item without it could not be read")
def required_field_that_is_removed() -> object:
    return Update(Tweet, "a", 1).remove(Tweet.posted_at)


@raises(ExpressionError, "only numbers (int, float, Decimal) can be added and subtracted, and User.active holds bool")
def sum_of_a_boolean() -> object:
    return User.active + 1  # error except mypy pyright


@raises(ExpressionError, "an update adds or subtracts only two numbers")
def sum_of_three() -> object:
    return Tweet.likes + 1 + 1


# Numbers.


@raises(OutOfRangeError, "limit must be a whole number from 1 up, not 0")
def limit_of_nothing() -> object:
    return Query(Tweet).limit(0)


@raises(OutOfRangeError, "page(size=...) must be a whole number from 1 up, not 0")
def page_of_nothing() -> object:
    return Query(Tweet).page(size=0)


@raises(ExpressionError, "Tweet.likes.size(): Tweet.likes holds int, which is stored as N and has no size")
def size_of_a_number() -> object:
    return Tweet.likes.size()


@raises(ExpressionError, "Tweet.pair holds tuple[int, str], which has no 7 inside")
def position_that_a_tuple_does_not_have() -> object:
    return Tweet.pair[7]


@raises(ExpressionError, "Tweet.plain holds Plain, which has no 'colr' inside")
def misspelt_field_of_a_plain_model() -> object:
    return Tweet.plain["colr"]


def queries_that_are_never_awaited(session: Session) -> None:
    """Accepted here and at run time: a query may be refined and dropped, and sends nothing before it is awaited."""
    session.query(Tweet)  # error pyrefly
    session.scan(Tweet).where(Tweet.likes > 3)  # error pyrefly


def indexes_reached_through_a_relative() -> None:
    """The checkers differ; each accepts the queried class's own attribute, which is what the documentation says."""
    Query(Retweet).index(Tweet.by_city)  # error mypy
    Query(Tweet).index(Retweet.by_city)  # error except mypy
    Query(Retweet).index(Retweet.by_city)
