"""How an integration comes by its session: a function makes it at each start, for a session is used once."""

from collections.abc import Callable

from dynamap_async.errors import ConfigurationError
from dynamap_async.executor import is_async, name_of
from dynamap_async.session import Session


def checked_make(make: Callable[[], Session], where: str) -> Callable[[], Session]:
    """Return a function that makes sessions as it is.

    Args:
        make: what was given.
        where: what it was given to.

    Raises:
        ConfigurationError: it is something else, such as a session.
    """
    if not callable(make) or is_async(make):
        raise ConfigurationError(
            f"{where} got {name_of(make)}: it takes a plain function that makes a session, for a session is used once; "
            f"write {where}(lambda: Session(...))"
        )
    return make
