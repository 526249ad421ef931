"""What no checker can refuse is refused at run time, with an error that names the remedy; what is right runs."""

import ast
import asyncio
import gc
import inspect
import sys
import typing
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from types import ModuleType

import pytest
import pytest_asyncio

from dynamap_async import Attr, BoundQuery, Expr, Model, Page, PartitionKey, Query, Scan, Session, SortKey, attr
from dynamap_async.testing import LocalEngine

HERE = Path(__file__).parent


def functions(program: str, *, decorated: bool) -> list[str]:
    """Return the names of a program's synchronous functions, without importing it: pytest wants them for its ids."""
    tree = ast.parse((HERE / program).read_text("utf-8"))
    return [
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and bool(node.decorator_list) is decorated
    ]


class Note(Model, table="notes"):
    owner: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")


@pytest_asyncio.fixture(loop_scope="function")
async def session() -> AsyncIterator[Session]:
    """Return an open session on an engine of its own: which engine answers is no matter of types."""
    with LocalEngine() as engine:
        async with engine.session() as opened:
            yield opened


@pytest_asyncio.fixture(loop_scope="function")
async def notes(session: Session) -> BoundQuery[Note]:
    await session.tables.create(Note)
    for number in range(3):
        await session.put(Note(owner="ada", number=number, text=f"no. {number}"))
    return session.query(Note).where(Note.owner == "ada")


@pytest.mark.parametrize("name", functions("cannot_refuse.py", decorated=True))
def test_what_checkers_accept_is_refused_at_run_time(name: str, program: Callable[[str], ModuleType]) -> None:
    [case] = [each for each in program("cannot_refuse").CANNOT_REFUSE if each.program.__name__ == name]
    with pytest.raises(case.error) as caught:
        case.program()
    assert case.message in str(caught.value)


@pytest.mark.parametrize("name", [name for name in functions("right.py", decorated=False) if name != "construct"])
def test_the_right_program_also_runs(name: str, program: Callable[[str], ModuleType]) -> None:
    right = program("right")
    function = getattr(right, name)
    arguments = {
        "tweet": right.construct,
        "body": right.construct,
        "item": right.construct,
        "write": lambda: "put",
        "query": lambda: Query(right.Tweet),
        "page": lambda: Page[object]([], None),
    }
    function(*(arguments[parameter]() for parameter in inspect.signature(function).parameters))


@pytest.mark.asyncio
async def test_the_contract_runs_as_written(session: Session, program: Callable[[str], ModuleType]) -> None:
    await program("contract").run(session)


@pytest.mark.asyncio
async def test_a_value_on_the_left_works_though_checkers_refuse_it(notes: BoundQuery[Note]) -> None:
    flipped = notes.where(1 == Note.number)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert [note.number for note in await flipped] == [1]


@pytest.mark.asyncio
async def test_asyncio_takes_a_query_wherever_it_takes_a_coroutine(notes: BoundQuery[Note]) -> None:
    assert isinstance(notes, Coroutine)
    assert asyncio.iscoroutine(notes)
    assert inspect.isawaitable(notes)
    expected = await notes
    assert len(expected) == 3
    assert await asyncio.create_task(notes.descending()) == expected[::-1]
    async with asyncio.TaskGroup() as group:
        task = group.create_task(notes.select(Note.text).limit(1))
    assert task.result() == [("no. 0",)]
    items, number = await asyncio.gather(notes.limit(1), notes.count())  # noqa: TID251 - users call it
    assert (items, number) == (expected[:1], 3)
    assert await asyncio.wait_for(notes.limit(2), 10) == expected[:2]
    assert await asyncio.shield(notes.limit(2)) == expected[:2]
    loop = asyncio.get_running_loop()
    future = asyncio.run_coroutine_threadsafe(notes.limit(2), loop)
    assert await asyncio.wrap_future(future) == expected[:2]


@pytest.mark.asyncio
async def test_one_query_can_be_awaited_again_and_run_as_several_tasks(notes: BoundQuery[Note]) -> None:
    assert await notes == await notes
    first, second = asyncio.create_task(notes), asyncio.create_task(notes)
    assert await first == await second == await notes


@pytest.mark.asyncio
async def test_a_query_in_a_task_can_be_cancelled(notes: BoundQuery[Note]) -> None:
    task = asyncio.create_task(notes)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await notes) == 3


def test_a_query_without_a_session_is_no_coroutine() -> None:
    assert not inspect.isawaitable(Query(Note))
    assert not isinstance(Query(Note), Coroutine)


@pytest.mark.asyncio
async def test_queries_are_dropped_in_silence(session: Session, program: Callable[[str], ModuleType]) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        program("cannot_refuse").queries_that_are_never_awaited(session)
        gc.collect()
    assert [str(warning.message) for warning in seen] == []


@pytest.mark.asyncio
@pytest.mark.parametrize("verb", ["put", "create", "delete"])
async def test_a_forgotten_write_warns(session: Session, verb: str) -> None:
    def forget() -> None:
        getattr(session, verb)(Note(owner="ada", number=1))
        gc.collect()

    with pytest.warns(RuntimeWarning, match=f"coroutine 'Session.{verb}' was never awaited"):
        forget()


def test_queries_and_expressions_carry_no_dict() -> None:
    for kind in (BoundQuery, Query, Scan, Expr):
        assert not any("__dict__" in vars(base) for base in inspect.getmro(kind))


def test_a_query_is_annotated_with_its_model_alone() -> None:
    assert typing.get_args(Query[Note])[0] is Note
    assert typing.get_args(BoundQuery[Note])[0] is Note
    assert typing.get_args(Scan[Note])[0] is Note
    assert typing.get_args(Query[Note, tuple[str]]) == (Note, tuple[str])

    def annotated(query: Query[Note], bound: "BoundQuery[Note] | None") -> Page[Note]:
        raise NotImplementedError

    hints = typing.get_type_hints(annotated)
    assert typing.get_origin(hints["query"]) is Query
    assert Query[Note](Note).spec == Query(Note).spec


def test_the_mypy_plugin_is_imported_by_nothing_but_mypy() -> None:
    assert "dynamap_async.mypy" not in sys.modules
