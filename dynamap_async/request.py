"""The one value that crosses from the pure half of the library to the asynchronous half."""

from dataclasses import dataclass, field

from dynamap_async.wire import Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of the DynamoDB API, ready to be encoded, signed and sent."""

    operation: str
    """The API's own name of the operation, such as ``GetItem``."""

    body: Body = field(repr=False)
    """The request's JSON object, in wire form. Left out of ``repr``: it holds item data."""

    table: str
    """The full table name; errors and statistics name it."""

    index: str | None = None
    """The index that is read, if any."""

    writes: bool = False
    """Whether the operation changes data, so that a lost answer leaves its outcome unknown."""

    conditional: bool = False
    """Whether a condition guards the write: its failure after a lost answer may be its own success."""

    resendable: bool = True
    """Whether sending again after a lost answer leads to the same state as sending once."""
