"""Two models that name one table by text: the second one warns, unless something tells their items apart."""

from typing import Any

import pytest

from dynamap_async import Attr, Model, PartitionKey, SharedTableWarning, Table, attr, template, upgrade
from dynamap_async.leases.records import LeaseItem
from dynamap_async.migrations.record import MigrationRecord
from dynamap_async.models import definition_of
from dynamap_async.models.same_table import warn_of_same_table
from dynamap_async.operations.unique_values import Guard

pytestmark = pytest.mark.filterwarnings("error::dynamap_async.SharedTableWarning")

MADE: list[Any] = []
"""What was made: a model that nobody holds may be collected before the next is made, and then warns nobody."""


def made(name: str, table: Any, *, bases: Any = (Model,), key: Any = None, **settings: Any) -> Any:
    def forward(item: Any) -> None:
        """Change nothing."""

    body = {
        "__annotations__": {"key": PartitionKey[str], "n": Attr[int]},
        "__module__": __name__,
        "__qualname__": f"{name}-{table}",
        "n": attr(default=0),
        **({} if key is None else {"key": key}),
        **({"forward": upgrade(to=2, changes=())(staticmethod(forward))} if "schema_version" in settings else {}),
    }
    model = type(Model)(name, bases, body, table=table, **settings)
    MADE.append(model)
    return model


def test_the_second_model_of_a_table_warns_where_it_is_made() -> None:
    made("Parcel", "two-of-one")
    with pytest.warns(SharedTableWarning, match=r"K and Parcel both name the table 'two-of-one'.*Table\(") as told:
        made("K", "two-of-one")
    assert [each.filename for each in told] == [__file__]


def test_the_library_s_own_models_take_no_part() -> None:
    own = [definition_of(model) for model in (LeaseItem, Guard, MigrationRecord)]
    for each in own:
        warn_of_same_table(each)


def test_a_model_that_names_the_table_of_a_table_object_warns() -> None:
    table = Table("of-an-object", partition_key="key")
    body = {"__annotations__": {"key": PartitionKey[str]}, "__module__": __name__}
    MADE.append(type(Model)("Kind", (Model,), body, table=table))
    with pytest.warns(SharedTableWarning, match="K and Kind both name"):
        made("K", "of-an-object")


def test_keys_that_cannot_be_the_same_tell_models_apart() -> None:
    made("Parcel", "by-keys", key=template("PARCEL#{n:04d}"))
    made("Depot", "by-keys", key=template("DEPOT#{n:04d}"))
    with pytest.warns(SharedTableWarning, match="Other and (Parcel|Depot)"):
        made("Other", "by-keys")


def test_a_version_of_a_model_a_subclass_and_the_same_class_again_are_no_others() -> None:
    base = made("Parcel", "one-model")
    made("Next", "one-model", schema_version=2)
    made("Special", "one-model", bases=(base,))
    made("Parcel", "one-model")
    made("Elsewhere", "another-one")


def test_a_module_that_is_loaded_a_second_time_makes_no_other_models(monkeypatch: pytest.MonkeyPatch) -> None:
    made("Parcel", "loaded-twice")
    monkeypatch.setitem(globals(), "__name__", "__main__")
    made("Parcel", "loaded-twice")


def test_a_model_may_be_declared_distinct_from_another() -> None:
    made("Depot", "declared", distinct_from=made("Parcel", "declared"))


def test_classes_in_functions_are_not_looked_at() -> None:
    made("Parcel", "in-functions")

    class Local(Model, table="in-functions"):
        key: PartitionKey[str]

    assert Local(key="a").key == "a"
