"""Names that other mappers have, and what to write here in their place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

MODEL_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("get", "get_or_none", "find_one", "get_item"),
        "await session.get({model}, key); session.find({model}, key) returns None if there is no item",
    ),
    **dict.fromkeys(("query", "find", "filter", "objects", "select"), "session.query({model}).where(...)"),
    **dict.fromkeys(("scan", "all", "find_all"), "session.scan({model})"),
    **dict.fromkeys(("batch_get", "get_many"), "await session.get_many({model}, keys)"),
    **dict.fromkeys(("batch_write", "insert_many", "bulk_create"), "await session.put_many(items)"),
    **dict.fromkeys(("create_table", "create_if_missing"), "await session.tables.create({model}, if_missing=True)"),
    "exists": "await session.tables.exists({model}); for one item, await session.find({model}, key)",
    "delete_table": "await session.tables.delete({model})",
    "count": "await session.query({model}).where(...).count()",
    **dict.fromkeys(("create", "insert"), "await session.create({model}(...))"),
    "put": "await session.put(item)",
    "save": "await session.save(item)",
    "update": "await session.update({model}, key).set(...)",
    "delete": "await session.delete({model}, key)",
    **dict.fromkeys(("refresh", "reload"), "await session.refresh(item)"),
}
"""A method of models in other mappers -> the call here, where sessions read and write."""

QUERY_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("order_by", "sort", "sort_by", "scan_index_forward", "reverse"),
        ".descending(), or nothing for ascending: items come in the order of the sort key",
    ),
    **dict.fromkeys(("filter", "filter_by", "filter_condition", "find", "match"), ".where(...)"),
    **dict.fromkeys(
        ("all", "to_list", "execute", "exec", "run", "fetch", "fetch_all", "go"),
        "await query, or await session.execute(query) if it was made without a session",
    ),
    **dict.fromkeys(("project", "projection", "only", "attributes_to_get"), ".select(Model.field, ...)"),
    **dict.fromkeys(("using_index", "use_index"), ".index(Model.name_of_the_index), if the planner is not to choose"),
    **dict.fromkeys(("skip", "offset", "start_key", "last_evaluated_key"), ".page(size=..., after=cursor)"),
    **dict.fromkeys(
        ("max_pages", "max_read_units"),
        ".page(size=..., max_pages=..., max_read_units=...), which has a cursor to go on",
    ),
    **dict.fromkeys(("get", "fetch_one", "first_or_none"), ".first(), .one() or .one_or_none()"),
}
"""A method of queries in other mappers -> what to write here."""

FIELD_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("startswith", "starts_with", "beginswith", "like", "prefix"), "{field}.begins_with(prefix)"),
    **dict.fromkeys(("in", "in_", "isin", "one_of"), "{field}.is_in(value, ...)"),
    **dict.fromkeys(("has", "includes", "any"), "{field}.contains(part)"),
    "icontains": "{field}.contains(part), which tells upper case from lower case",
    **dict.fromkeys(("isnull", "is_null", "not_exists", "does_not_exist", "attribute_not_exists"), "{field}.missing()"),
    **dict.fromkeys(("is_not_null", "attribute_exists", "is_not"), "{field}.exists()"),
    **dict.fromkeys(("is_type", "attribute_type"), "{field}.has_type(letters)"),
    **{
        name: f"{{field}} {sign} value"
        for sign, names in {
            "==": ("eq", "equals"),
            "!=": ("ne", "not_equals"),
            "<": ("lt", "less_than"),
            "<=": ("lte", "le"),
            ">": ("gt", "greater_than"),
            ">=": ("gte", "ge"),
        }.items()
        for name in names
    },
    **dict.fromkeys(("set", "set_"), "session.update({model}, key).set({field}, value)"),
    **{name: f"session.update({{model}}, key).{name}({{field}}, ...)" for name in ("add", "delete")},
    "remove": "session.update({model}, key).remove({field})",
    **dict.fromkeys(
        ("asc", "desc"), ".descending() on the query, or nothing for ascending: items come in the order of the sort key"
    ),
}
"""A method of fields in other mappers -> what to write here."""


SESSION_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("get_item", "load", "read", "fetch", "get_or_none"), "get(Model, key) or find(Model, key)"),
    **dict.fromkeys(("put_item", "insert", "add", "insert_one"), "put(item), or create(item) to replace none"),
    **dict.fromkeys(("update_item", "update_one"), "update(Model, key).set(...)"),
    **dict.fromkeys(("delete_item", "delete_one", "remove"), "delete(Model, key)"),
    **dict.fromkeys(("batch_get", "batch_get_item"), "get_many(Model, keys)"),
    **dict.fromkeys(
        ("batch_write", "batch_write_item", "insert_many", "bulk_create", "add_all", "save_many"), "put_many(items)"
    ),
    **dict.fromkeys(("filter", "select", "find_many", "objects"), "query(Model).where(...)"),
    **dict.fromkeys(("all", "find_all"), "scan(Model)"),
    **dict.fromkeys(("commit", "flush", "begin"), "transaction(), as in `async with session.transaction() as tx`"),
    **dict.fromkeys(("create_table", "create_all"), "tables.create(Model)"),
}
"""A method of sessions and clients elsewhere -> the method of a session here."""


class EnteredByAsyncWith:
    """What is entered with ``async with``, and says so where ``with`` is written."""

    __slots__ = ()

    if not TYPE_CHECKING:  # checkers refuse it by themselves

        def __enter__(self) -> None:
            name = type(self).__name__
            raise TypeError(f"{name} is entered with `async with`, not with `with`")

        def __exit__(self, *of_an_error: object) -> None:
            """Exist beside ``__enter__``, which Python does not call without it."""


class IteratedByAsyncFor:
    """What is iterated over with ``async for``, and says so where ``for`` is written."""

    __slots__ = ()

    if not TYPE_CHECKING:  # checkers refuse it by themselves

        def __iter__(self) -> None:
            name = type(self).__name__
            raise TypeError(f"{name} reads over the network; write `async for item in ...`, not `for`")


_LOOKUPS: Final[Mapping[str, str]] = {
    **FIELD_NAMES,
    **dict.fromkeys(("range", "between"), "{field}.between(low, high)"),
    **dict.fromkeys(("contains", "exists", "missing"), "{field}.contains(part), .exists() or .missing()"),
    **dict.fromkeys(("exact", "iexact"), "{field} == value"),
}


def no_keywords(method: str, instead: str, model: str, given: Mapping[str, object]) -> TypeError:
    """Return the error of keywords where other mappers take names of fields.

    Args:
        method: what was called, such as ``where``.
        instead: what to write, with places for the first field, its value, and a condition on it.
        given: the keywords: names of fields, with dots or comparisons after two underscores.
    """
    name, value = next(iter(given.items()))
    path, _, lookup = name.rpartition("__")
    if lookup not in _LOOKUPS or not path:
        path, lookup = name, ""
    field = f"{model}.{path.replace('__', '.')}"
    condition = _LOOKUPS[lookup].format(field=field, model=model) if lookup else f"{field} == {value!r}"
    written = instead.format(field=field, value=value, condition=condition)
    return TypeError(f"{method}() takes no keyword {name!r}; write {written}")


def closest(name: str, names: Collection[str]) -> list[str]:
    """Return the name that a mistyped one is most like, in a list; an empty list where none is like it.

    Args:
        names: the names that there are, of which those with an underscore in front are nobody's to use.
    """
    import difflib  # only for messages of errors

    return difflib.get_close_matches(name, [each for each in names if not each.startswith("_")], 1)


def no_attribute(
    kind: str,
    name: str,
    habits: Mapping[str, str],
    known: Collection[str],
    *,
    model: str = "",
    field: str = "",
    otherwise: str = "",
) -> AttributeError:
    """Return the error of a missing attribute, with what to write instead: for names of other mappers, and typos.

    Args:
        kind: what was asked for it, such as ``Query``.
        habits: name in other mappers -> what to write.
        field: the field with its model, for the text.
        otherwise: what follows where the name is like none.
    """
    if (remedy := habits.get(name)) is not None:
        return AttributeError(f"{kind} has no {name!r}; write {remedy.format(model=model, field=field)}")
    near = closest(name, known)
    return AttributeError(f"{kind} has no attribute {name!r}" + (f"; did you mean {near[0]}?" if near else otherwise))
