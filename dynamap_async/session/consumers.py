"""What ``session.consumer`` is told, and the consumer that it makes of that."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

from dynamap_async.errors import OperationError
from dynamap_async.models import Model, Table
from dynamap_async.operations.library_table import OWN_TABLE_NAME
from dynamap_async.session.runner import Runner
from dynamap_async.streams.changes import ChangeDecoder, UnknownKinds
from dynamap_async.streams.checkpoints import Checkpoints, MemoryCheckpoints, in_own_table
from dynamap_async.streams.consumer import Consumer, ConsumerSettings
from dynamap_async.streams.positions import Position
from dynamap_async.streams.reading import OnGap
from dynamap_async.streams.work import Failed


class ConsumerOptions(TypedDict, total=False):
    """How a consumer works; each has a default."""

    start: Literal["oldest", "latest"] | datetime
    """Where the group begins the first time: with all that the stream has (``"oldest"``, the default), with what comes
    from now on, or with what was changed since a time."""
    reset: bool
    """Whether it begins there again, whatever it has done; its other workers lose their shards."""
    attempts: int
    """How often a change is tried, with growing pauses; 5 by default."""
    on_failure: Literal["stop"] | Failed
    """What becomes of a change that failed so often. ``"stop"``, the default, has ``run`` raise ChangeFailedError; an
    async function of the change and the error keeps it elsewhere, and the change is done then."""
    on_gap: OnGap
    """What becomes of a position that DynamoDB does not keep any more: ``"raise"``, the default, has ``run`` raise
    ChangesLostError; ``"oldest"`` goes on with what is kept, and tells the event ``ChangesLost``."""
    checkpoints: Literal["memory"] | Checkpoints | None
    """Where the group's records are kept: the library's own table by default; ``"memory"`` for one worker whose work
    begins anew with it; or a store of your own."""
    unknown: UnknownKinds
    """What an item of no known model of a shared table becomes; see ``ItemChange``."""
    lease_seconds: float
    """After how long without a sign a worker counts as gone; 10 by default."""
    handover_seconds: float
    """How long what is being handled may go on when another worker is to have the shard; 30 by default."""
    idle_seconds: float
    """How often a shard is asked at least where nothing happens, in seconds; 1 by default."""
    allow_loops: bool
    """Whether the function may write to the table whose changes it gets; otherwise that is warned of."""


def consumer_of(
    runner: Runner,
    models: Sequence[type[Model] | Table],
    close_seconds: float,
    own_table: Callable[[], Coroutine[Any, Any, None]],
    group: str,
    options: ConsumerOptions,
) -> Consumer[Any]:
    """Return a consumer; errors are those of ``session.consumer``.

    Args:
        runner: carries operations out.
        models: the models, or the table that they share.
        close_seconds: how long giving shards back may take.
        own_table: makes the library's own table, if it is missing.
        group: the name of the group.
        options: how it works.
    """
    decoder = ChangeDecoder(models, options.get("unknown", "raise"))
    table = decoder.definition.require_table("consumed").name
    on_failure = options.get("on_failure", "stop")
    if not callable(on_failure) and on_failure != "stop":
        raise OperationError(f"on_failure={on_failure!r}: write 'stop', or give an async function of change and error")
    settings = ConsumerSettings(
        group=group,
        start=_start(options.get("start", "oldest")),
        reset=options.get("reset", False),
        attempts=options.get("attempts", 5),
        on_failure=None if on_failure == "stop" else on_failure,
        on_gap=options.get("on_gap", "raise"),
        lease_seconds=options.get("lease_seconds", 10.0),
        handover_seconds=options.get("handover_seconds", 30.0),
        idle_seconds=options.get("idle_seconds", 1.0),
        allow_loops=options.get("allow_loops", False),
    )
    if table == OWN_TABLE_NAME and not settings.allow_loops:
        raise OperationError(
            "a consumer of the library's own table writes its checkpoints there, and each brings a change; say "
            "allow_loops=True if that is what you want"
        )
    checkpoints, open_store = _store(options.get("checkpoints"), runner, own_table)
    return Consumer(
        runner.executor,
        decoder,
        settings,
        checkpoints,
        table=runner.context.tables.full(table),
        open_store=open_store,
        clock=runner.context.clock,
        close_seconds=close_seconds,
    )


def _start(start: object) -> Position:
    if start == "oldest":
        return Position("oldest")
    if start == "latest":
        return Position("latest")
    if isinstance(start, datetime) and start.tzinfo is not None:
        return Position("time", at=start.timestamp())
    raise OperationError(f"start={start!r}: write 'oldest' or 'latest', or give a datetime with a time zone")


def _store(
    given: Literal["memory"] | Checkpoints | None, runner: Runner, own_table: Callable[[], Coroutine[Any, Any, None]]
) -> tuple[Checkpoints, Callable[[], Coroutine[Any, Any, None]]]:
    """Return where records are kept, and what makes that."""
    if given is None:
        return in_own_table(runner.executor, runner.context), own_table
    return MemoryCheckpoints() if isinstance(given, str) else given, _nothing


async def _nothing() -> None:
    """Do nothing: what the user gave is open, and memory needs nothing."""
