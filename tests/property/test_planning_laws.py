"""A plan that was kept for the shape of a query is the one that would be made for the query itself."""

from datetime import UTC, datetime
from itertools import product
from typing import Any
from unittest.mock import patch

from hypothesis import event, given, settings
from hypothesis import strategies as st

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Query,
    Scan,
    SortKey,
    Table,
    TimeToLive,
    attr,
    include,
    template,
)
from dynamap_async.errors import DynamapError
from dynamap_async.models import definition_of
from dynamap_async.planning import TableNames
from dynamap_async.planning import plan_cache as planning
from dynamap_async.planning.context import Context
from dynamap_async.planning.plan_cache import plan_reading
from dynamap_async.planning.reading import plan_uncached


class Plain(Model, table="plain"):
    p: PartitionKey[str]
    s: SortKey[str]
    n: Attr[int] = attr(name="number", default=0)
    t: Attr[str | None] = attr(default=None)
    parts: Attr[list[str]] = attr(default_factory=list)

    by_n = LocalIndex(sort_key="n", projection=include("t"))
    by_t = GlobalIndex(partition_key="t", sort_key="n")
    by_keys = GlobalIndex(partition_key=("t", "n"), sort_key="s", projection=KEYS_ONLY)


class Made(Model, table="made"):
    p: PartitionKey[str]
    s: SortKey[str] = template("{t}#{n:06d}")
    n: Attr[int] = attr(default=0)
    t: Attr[str] = attr(default="")
    parts: Attr[list[str]] = attr(default_factory=list)


class Hidden(Model, table="hidden", hide_expired=True):
    p: PartitionKey[str]
    s: SortKey[str]
    n: Attr[int] = attr(default=0)
    t: Attr[str | None] = attr(default=None)
    parts: Attr[list[str]] = attr(default_factory=list)
    until: TimeToLive[datetime] = attr(default=datetime(2030, 1, 1, tzinfo=UTC))


SHARED = Table("shared", partition_key="pk", sort_key="sk")


class Sharing(Model, table=SHARED):
    p: PartitionKey[str] = attr(name="pk")
    s: SortKey[str] = attr(name="sk")
    n: Attr[int] = attr(default=0)
    t: Attr[str | None] = attr(default=None)
    parts: Attr[list[str]] = attr(default_factory=list)


MODELS: list[Any] = [Plain, Plain, Plain, Made, Hidden, Sharing]
TEXTS = ["", "a", "b", "a" * 1100]


def _range(field: Any, one: Any, other: Any) -> Any:
    return field.between(min(one, other), max(one, other))


SHAPES: list[Any] = [
    lambda m, x, y, n, k: m.p == x,
    lambda m, x, y, n, k: m.p.is_in(x, y),
    lambda m, x, y, n, k: m.s == x,
    lambda m, x, y, n, k: m.s >= x,
    lambda m, x, y, n, k: m.s <= y,
    lambda m, x, y, n, k: m.s.begins_with(x),
    lambda m, x, y, n, k: _range(m.s, x, y),
    lambda m, x, y, n, k: m.t == x,
    lambda m, x, y, n, k: m.t == None,  # noqa: E711 - a condition
    lambda m, x, y, n, k: m.t != x,
    lambda m, x, y, n, k: m.n == n,
    lambda m, x, y, n, k: _range(m.n, n, k),
    lambda m, x, y, n, k: m.n.is_in(n, k),
    lambda m, x, y, n, k: (m.n < n) | (m.n > k),
    lambda m, x, y, n, k: ~m.n.exists() & (m.t.size() > n),
    lambda m, x, y, n, k: (m.t == m.p) | m.t.has_type("S"),
    lambda m, x, y, n, k: m.parts == [x, y],
    lambda m, x, y, n, k: m.parts.contains(x) & m.parts[n].exists(),
]
VALUES = st.sampled_from(list(product(TEXTS, TEXTS, range(3), range(3))))
SETTINGS: list[Any] = [
    lambda q, n: q,
    lambda q, n: q,
    lambda q, n: q.limit(n + 1),
    lambda q, n: q.page_size(n + 1).consistent(),
    lambda q, n: q.select(q.spec.model.n, q.spec.model.t),
    lambda q, n: q.segments(n + 1) if q.spec.scan else q.descending(),
]


def built(model: Any, scan: bool, shapes: Any, values: Any, setting: Any) -> Any:
    query = Scan(model) if scan else Query(model)
    conditions = [shape(model, *each) for shape, each in zip(shapes, values, strict=True)]
    return setting(query.where(*conditions), values[0][2]).spec


def told(plan: Any, spec: Any, counting: bool) -> Any:
    """Return all that a reading says, or how its planning failed."""
    context = Context(tables=TableNames("dev-"), cursor_secret=b"secret", clock=lambda: 1000.0)
    try:
        reading = plan(spec, context, counting=counting)
    except DynamapError as error:
        return type(error), str(error)
    facts = {
        name: value
        for name, value in vars(reading).items()
        if name not in ("binding", "decode", "route", "answer_filter")
    }
    facts["completion"] = reading.completion is None
    return facts, list(reading.plan.body), reading.binding(), reading.request(None, 7)


@given(
    st.sampled_from(MODELS),
    st.booleans(),
    st.tuples(st.sampled_from([SHAPES[0], *SHAPES[:8]]), st.lists(st.sampled_from(SHAPES), max_size=3)).map(
        lambda drawn: [drawn[0], *drawn[1]]
    ),
    st.data(),
    st.sampled_from(SETTINGS),
    st.booleans(),
)
@settings(deadline=None, max_examples=200)
def test_a_kept_plan_is_the_plan_that_would_be_made(
    model: Any, scan: bool, shapes: Any, data: Any, setting: Any, counting: bool
) -> None:
    definition_of(model).compiled.clear()
    for _ in range(3):
        values = data.draw(st.lists(VALUES, min_size=len(shapes), max_size=len(shapes)))
        try:
            spec = built(model, scan, shapes, values, setting)
        except DynamapError as error:
            event(f"not built: {type(error).__name__}")
            continue
        with patch.object(planning, "plan_uncached", side_effect=plan_uncached) as anew:
            found = told(plan_reading, spec, counting)
        event("planned anew" if anew.called else "filled")
        assert found == told(plan_uncached, spec, counting)
