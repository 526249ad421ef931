"""Which of the user's models a command is about, and of which period."""

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from dynamap_async.cli.catalog import Catalog, Declared, load_catalog, periods_of
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import tell
from dynamap_async.cli.place import Place
from dynamap_async.dataclass import dataclass

if TYPE_CHECKING:
    from dynamap_async.tables import TableDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The models and tables that a command is about."""

    catalog: Catalog
    """Everything that the modules declare."""
    declared: tuple[Declared, ...]
    """Of that, what is meant: always all models of a table."""
    period: Any
    """The period of tables of which there is one for each; None for none."""
    all_periods: bool = False
    """Whether every table that is there of such models is meant."""


def choose(place: Place, names: list[str], period: str | None, *, all_periods: bool = False) -> Chosen:
    """Return the models and tables that names mean.

    Args:
        names: names of models and tables; none stands for all.
        period: a value of the field that tells the period, as text. Without it, models with one table for each period
            are left out, unless they are named.
        all_periods: whether every table that is there of such models is meant.

    Raises:
        CommandError: a module or a name is wrong, nothing is left, or a model that is named needs a period.
    """
    catalog = load_catalog(place.models, place.folder)
    named = [catalog.find(name) for name in names]
    declared = catalog.sharing(named) if names else catalog.all
    # Which tables such a model has is known only with a period.
    periodical = [each for each in declared if periods_of(each) is not None]
    if period is not None or all_periods:
        option = "--all-periods" if period is None else f"--period {period}"
        if not periodical:
            raise CommandError(f"{option}: no model has one table per period; drop it", Status.USAGE)
        if period is None:
            return Chosen(catalog=catalog, declared=declared, period=None, all_periods=True)
        if all_periods:
            raise CommandError(f"{option} and --all-periods exclude each other; give one of them", Status.USAGE)
        return Chosen(catalog=catalog, declared=declared, period=_value(periodical[0], period))
    left_out = [catalog.name(each) for each in periodical]
    if periodical and named:
        raise CommandError(
            f"{', '.join(left_out)} has one table per period; choose one with --period, by any value of "
            f"{periods_of(periodical[0]).field.name}",
            Status.USAGE,
        )
    if periodical:
        tell(f"left out, for they have one table per period: {', '.join(left_out)}; name one with --period")
    kept = tuple(each for each in declared if each not in periodical)
    if not kept:
        raise CommandError("no model is left to work on", Status.USAGE)
    return Chosen(catalog=catalog, declared=kept, period=None)


async def described(place: Place, chosen: Chosen) -> "TableDescription":
    """Return the description of the one table that is chosen."""
    async with place.session() as session:
        return await session.tables.describe(chosen.declared[0], period=chosen.period)


def _value(model: Declared, text: str) -> Any:
    field = periods_of(model).field
    try:
        # Pydantic parses dates, times and numbers as it does for the model.
        return TypeAdapter(field.annotation).validate_python(text)
    except ValidationError as error:
        problem = error.errors()[0]["msg"]
        raise CommandError(f"--period {text!r} is not a value of {field.name}: {problem}", Status.USAGE) from error
