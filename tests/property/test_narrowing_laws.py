"""A key condition never loses an item, whatever the template, the separators, the bounds and the characters are.

Conditions on the parts of random templates are planned. Every item that they describe has to meet the key condition and
the filter that come of them; every other item has to be left out by one of the two.
"""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

from hypothesis import assume, event, given, reject, settings
from hypothesis import strategies as st

from dynamap_async import (
    EPOCH_SECONDS,
    Attr,
    Collection,
    Model,
    PartitionKey,
    Query,
    SortKey,
    Table,
    attr,
    template,
    time_text,
)
from dynamap_async.codec import order_key
from dynamap_async.errors import EncodeError, ExpressionError, ModelDefinitionError, OperationError
from dynamap_async.expressions import Between, Comparison, Function, In, Or
from dynamap_async.models import definition_of
from dynamap_async.planning import Context

TEXT = st.text(alphabet=st.sampled_from(list("ab #/!~09-\x01\x7f\u00e9\ud7ff\ue000\U0001f600\U0010fffe")), max_size=4)
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
MOMENTS = st.integers(-40, 40).map(lambda hours: NOON + timedelta(hours=hours))
TYPES: dict[str, tuple[Any, Any, list[str]]] = {
    "a": (str, TEXT, ["", "", ":upper", ":lower"]),
    "b": (str, TEXT, [""]),
    "n": (int, st.integers(-1200, 1200), [":03d", ":+04d", "", ":ordered"]),
    "price": (Decimal, st.decimals(-20, 20, places=3), [":05.2f", ":+06.2f", ":ordered"]),
    "at": (datetime, MOMENTS, ["", ":day", ":month", ":%Y%m%dT%H", ":%d.%m.%Y %H"]),
    "seen": (datetime, MOMENTS, ["", "", ":%Y-%m"]),
    "epoch": (datetime, MOMENTS, [":010d", ":012d", ":second"]),
    "day": (date, st.dates(date(2023, 11, 1), date(2024, 4, 1)), ["", ":month", ":%Y%m%d", ":%d.%m.%Y"]),
}
FIELDS: dict[str, Any] = {
    "seen": attr(stored_as=time_text("%Y-%m-%d %H:%M:%S")),
    "epoch": attr(stored_as=EPOCH_SECONDS),
}
CONSTANTS = st.sampled_from(["", "#", "##", "/", " ", "x", "!#", "~", "\x01", "\u00e9"])
NUMBERS = count()


@st.composite
def models(draw: st.DrawFn, table: Any = "things", **keywords: Any) -> Any:
    names = draw(st.permutations(list(TYPES)))[: draw(st.integers(1, 4))]
    slots = [f"{{{name}{draw(st.sampled_from(TYPES[name][2]))}}}" for name in names]
    pattern = draw(CONSTANTS) + "".join(slot + draw(CONSTANTS) for slot in slots)
    annotations = {name: Attr[kind] for name, (kind, _, _) in TYPES.items()}
    name = f"M{next(NUMBERS)}"
    keys = {"pk": PartitionKey[str], "sk": SortKey[str]}
    body = {"__annotations__": {**annotations, **keys}, **FIELDS, "sk": template(pattern, escape=draw(st.booleans()))}
    try:
        body = {"__module__": __name__, "__qualname__": name, **body}
        return type(Model)(name, (Model,), body, table=table, **keywords), names
    except ModelDefinitionError:
        assume(False)
        raise


COMPARISONS: list[tuple[Any, Any]] = [
    (lambda field, one, other: field == one, lambda value, one, other: value == one),
    (lambda field, one, other: field < one, lambda value, one, other: value < one),
    (lambda field, one, other: field <= one, lambda value, one, other: value <= one),
    (lambda field, one, other: field > one, lambda value, one, other: value > one),
    (lambda field, one, other: field >= one, lambda value, one, other: value >= one),
    (
        lambda field, one, other: field.between(min(one, other), max(one, other)),
        lambda value, one, other: min(one, other) <= value <= max(one, other),
    ),
]
IS_IN = (lambda field, one, other: field.is_in(one, other), lambda value, one, other: value in (one, other))
BEGINS = (lambda field, one, other: field.begins_with(one), lambda value, one, other: value.startswith(one))
FIXING = (COMPARISONS[0], IS_IN)
"""What may stand before a condition on the next part."""


def meets(condition: Any, item: dict[str, Any]) -> bool:
    """Return whether a wire item meets a condition."""
    match condition:
        case Or(parts=parts):
            return any(meets(part, item) for part in parts)
        case Function(name="begins_with", path=path, arguments=(prefix,)):
            return bool(item[path.attribute]["S"].startswith(prefix.stored["S"]))
        case Between(operand=path, low=low, high=high):
            return bool(order_key(low.stored) <= order_key(item[path.attribute]) <= order_key(high.stored))
        case In(operand=path, values=values):
            return item[path.attribute] in [value.stored for value in values]
        case Comparison(left=path, comparator=comparator, right=right):
            left, wanted = order_key(item[path.attribute]), order_key(right.stored)
            results = {"=": left == wanted, "<": left < wanted, "<=": left <= wanted, ">": left > wanted}
            return bool({**results, ">=": left >= wanted}[comparator])
    raise AssertionError(condition)


@st.composite
def items_of(draw: st.DrawFn, model: Any) -> list[Any]:
    found = []
    for _ in range(draw(st.integers(1, 6))):
        try:
            item = model(pk="p", **{name: draw(kind) for name, (_, kind, _) in TYPES.items()})
            definition_of(model).items.encode(item)
        except ValueError:  # a separator inside a value, a number without room, or an empty key
            continue
        found.append(item)
    assume(found)
    return found


@st.composite
def several_models(draw: st.DrawFn) -> Any:
    """Return models of one table with keys of their own each, and the parts of the first one's."""
    shared = Table(f"things{next(NUMBERS)}", partition_key="pk", sort_key="sk")
    first, names = draw(models(shared, kind="0"))
    others: list[Any] = []
    for number in range(1, draw(st.integers(2, 3))):
        others.append(draw(models(shared, kind=str(number), distinct_from=(first, *others)))[0])
    return (first, *others), names


@st.composite
def conditions_on(draw: st.DrawFn, model: Any, names: list[str], like: Any) -> tuple[list[Any], list[Any]]:
    """Return conditions on the first parts of a key, and what tests the items that they describe."""
    conditions, tests = [], []
    for place, name in enumerate(names):
        kind, values_of, _ = TYPES[name]
        fixes = place < len(names) - 1 and draw(st.booleans())
        choices = [COMPARISONS[0], *FIXING] if fixes else [*COMPARISONS, IS_IN]
        make, test = draw(st.sampled_from([*choices, *([BEGINS] if kind is str else [])]))
        one = draw(st.one_of(st.just(getattr(like, name)), values_of))
        other = draw(values_of)
        conditions.append(make(getattr(model, name), one, other))
        tests.append((name, test, one, other))
        if all(make is not each for each, _ in FIXING):
            break
    return conditions, tests


@given(models(), st.data())
@settings(deadline=None, max_examples=150)
def test_narrowing_never_loses_an_item_and_lets_none_through(made: Any, data: st.DataObject) -> None:
    model, names = made
    items = data.draw(items_of(model))
    conditions, tests = data.draw(conditions_on(model, names, items[0]))
    check(Query(model).where(model.pk == "p", *conditions), tests, items)


@given(several_models(), st.data())
@settings(deadline=None, max_examples=50)
def test_narrowing_of_several_models_loses_no_item_of_any_and_lets_none_through(
    made: tuple[Any, list[str]], data: st.DataObject
) -> None:
    several, names = made
    items = [item for model in several for item in data.draw(items_of(model))]
    conditions, tests = data.draw(conditions_on(several[0], names[: data.draw(st.integers(0, len(names)))], items[0]))
    check(Collection(*several).where(several[0].pk == "p", *conditions), tests, items)


def check(query: Any, tests: list[Any], items: list[Any]) -> None:
    """Assert that key condition and filter hold of the items that a query describes, and of no other.

    ``is_in`` on a part makes several queries: exactly one of them gives such an item.
    """

    def described(item: Any) -> bool:
        return all(test(getattr(item, name), one, other) for name, test, one, other in tests)

    try:
        reading = query.reading(Context())
    except (OperationError, EncodeError, ExpressionError) as refusal:
        event(type(refusal).__name__)
        reject()
    plan, plans = reading.plan, () if reading.exhausted else reading.branches or (reading.plan,)
    event(f"{len(plan.sort_conditions)} on the sort key, {len(plan.filters)} filters, {len(plans)} queries")
    for item in items:
        stored = definition_of(type(item)).items.encode(item)
        found = [all(meets(one, stored) for one in (*each.key_conditions, *each.filters)) for each in plans]
        assert found.count(True) == described(item), (item.sk, [(each.key_conditions, each.filters) for each in plans])
