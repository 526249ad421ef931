"""Queries and scans of a session: the beginnings of their builders."""

from typing import TYPE_CHECKING, Any, TypeVar, overload

from dynamap_async.models import Model
from dynamap_async.operations import Query, Scan, collection_spec
from dynamap_async.session.bound_reads import BoundCollection, BoundQuery, BoundScan

if TYPE_CHECKING:
    from dynamap_async.session.runner import Runner

M = TypeVar("M", bound=Model)
A = TypeVar("A", bound=Model)
B = TypeVar("B", bound=Model)
C = TypeVar("C", bound=Model)
D = TypeVar("D", bound=Model)
E = TypeVar("E", bound=Model)


class Queries:
    """What a session reads with conditions."""

    _runner: "Runner"

    @overload
    def query(self, model: type[M], /) -> BoundQuery[M, M]: ...
    @overload
    def query(self, a: type[A], b: type[B], /) -> BoundCollection[A | B, A | B]: ...
    @overload
    def query(self, a: type[A], b: type[B], c: type[C], /) -> BoundCollection[A | B | C, A | B | C]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], d: type[D], /
    ) -> BoundCollection[A | B | C | D, A | B | C | D]: ...
    @overload
    def query(
        self, a: type[A], b: type[B], c: type[C], d: type[D], e: type[E], /
    ) -> BoundCollection[A | B | C | D | E, A | B | C | D | E]: ...
    @overload
    def query(
        self,
        a: type[Model],
        b: type[Model],
        c: type[Model],
        d: type[Model],
        e: type[Model],
        f: type[Model],
        /,
        *more: type[Model],
    ) -> BoundCollection[Model, Model]: ...
    def query(self, *models: type[Model]) -> BoundQuery[Any, Any] | BoundCollection[Any, Any]:
        """Begin a query on a model's table or indexes, or on several models of a shared ``Table``.

        See ``Query`` and ``Collection``.
        """
        if len(models) == 1:
            # Without [Any, Any], which costs as much as the rest of the line (benchmarks: query_100).
            query: BoundQuery[Any, Any] = BoundQuery(self._runner, Query(models[0]).spec)
            return query
        return BoundCollection[Any, Any](self._runner, collection_spec(models))

    def scan(self, model: type[M], /) -> BoundScan[M, M]:
        """Begin a scan of a model's whole table, or of an index. See ``Scan``."""
        return BoundScan(self._runner, Scan(model).spec)
