"""Client request tokens: with one, a transaction that is sent again within ten minutes is not carried out again.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

import os
from typing import Final

from dynamap_async.errors import OperationError
from dynamap_async.limits import CLIENT_REQUEST_TOKEN_LENGTH, CLIENT_REQUEST_TOKEN_SECONDS

_MARGIN_SECONDS: Final = 60.0

RESENDABLE_SECONDS: Final = CLIENT_REQUEST_TOKEN_SECONDS - _MARGIN_SECONDS
"""How long after its first sending a request with a token is sent again."""


def checked_token(token: str | None) -> str | None:
    """Return the token that a caller gave; None where none was.

    Raises:
        OperationError: it is no text, empty or too long.
    """
    given: object = token  # whatever the checkers say, a program may pass anything
    if given is not None and (not isinstance(given, str) or not 1 <= len(given) <= CLIENT_REQUEST_TOKEN_LENGTH):
        raise OperationError(
            f"client_request_token={token!r}: a token has 1 to {CLIENT_REQUEST_TOKEN_LENGTH} characters of text, such "
            "as str(uuid4())"
        )
    return token


def token_to_send(token: str | None) -> str:
    """Return the caller's token, or a new one for this execution alone."""
    # As random as a UUID, at a tenth of the cost of making one (benchmarks: transaction_10).
    return token or os.urandom(16).hex()
