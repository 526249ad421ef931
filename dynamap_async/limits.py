"""The service's quotas that this library checks before it sends, each with its unit and its source.

Source of all, unless a line names another:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
"""

from __future__ import annotations

from typing import Final

ITEM_SIZE_BYTES: Final = 409_600
"""Largest item: 400 KB of attribute names and values together."""

PARTITION_KEY_BYTES: Final = 2_048
"""Longest partition key value (1 byte is the shortest)."""

SORT_KEY_BYTES: Final = 1_024
"""Longest sort key value (1 byte is the shortest)."""

NESTING_LEVELS: Final = 32
"""Deepest nesting, the top-level attribute counted as level 1."""

NUMBER_DIGITS: Final = 38
"""Most significant digits of a number."""

NUMBER_MAX_EXPONENT: Final = 125
"""Largest magnitude is 9.99...E+125."""

NUMBER_MIN_EXPONENT: Final = -130
"""Smallest magnitude, except zero, is 1E-130."""

KEY_NAME_BYTES: Final = 255
"""Longest name of an attribute that is part of a key or of an index's INCLUDE list."""

ATTRIBUTE_NAME_BYTES: Final = 65_535
"""Longest name of any other attribute."""

TABLE_NAME_MIN: Final = 3
"""Shortest table or index name, in characters."""

TABLE_NAME_MAX: Final = 255
"""Longest table or index name, in characters."""

LOCAL_INDEXES: Final = 5
"""Most local secondary indexes of a table."""

GLOBAL_INDEXES: Final = 20
"""Default quota of global secondary indexes of a table; AWS raises it on request, so it is not checked."""

INDEX_PARTITION_ATTRIBUTES: Final = 4
"""Most partition key attributes of a global secondary index."""

INDEX_SORT_ATTRIBUTES: Final = 4
"""Most sort key attributes of a global secondary index."""

INCLUDED_ATTRIBUTES_PER_INDEX: Final = 20
"""Most attributes in the INCLUDE list of one index.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Projection.html"""

INCLUDED_ATTRIBUTES: Final = 100
"""Most attributes in the INCLUDE lists of all of a table's indexes together."""

EXPRESSION_BYTES: Final = 4_096
"""Longest expression text, as sent (placeholders not expanded)."""

EXPRESSION_OPERATORS: Final = 300
"""Most operators and functions in one expression."""

EXPRESSION_SUBSTITUTIONS_BYTES: Final = 2_097_152
"""Largest sum of all placeholder names and values of one request."""

IN_OPERANDS: Final = 100
"""Most operands of IN."""

PAGE_ITEMS: Final = 2_147_483_647
"""The largest Limit of a query or scan: it is a 32-bit integer."""

LIST_POSITION: Final = 2_147_483_647
"""The last position in a list that an expression may name: it is a 32-bit integer."""

PATH_DEPTH: Final = 32
"""Deepest document path."""

READ_UNIT_BYTES: Final = 4_096
"""What one strongly consistent read unit reads."""

WRITE_UNIT_BYTES: Final = 1_024
"""What one write unit writes."""

LARGE_COLLECTION_GB: Final = 8
"""From which size on observers are told of an item collection of a table with local indexes: it may have 10 GB.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit
"""

PARTITION_READ_UNITS: Final = 3_000
"""Read units that one partition serves in a second, whatever the table has.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"""

PARTITION_WRITE_UNITS: Final = 1_000
"""Write units that one partition serves in a second.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html"""

PAGE_BYTES: Final = 1_048_576
"""Most data that one Query or Scan request evaluates."""

SCAN_SEGMENTS: Final = 1_000_000
"""Most segments of a parallel scan. Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
(TotalSegments)"""

BATCH_GET_KEYS: Final = 100
"""Most keys of one BatchGetItem call."""

BATCH_ANSWER_BYTES: Final = 16_777_216
"""Most data in the answer of one BatchGetItem call."""

ANSWER_BYTES: Final = 20_971_520
"""Bytes of one HTTP answer; a larger one is refused. A choice of this library: DynamoDB answers with up to 16 MB."""

BATCH_WRITE_REQUESTS: Final = 25
"""Most puts and deletes of one BatchWriteItem call."""

BATCH_WRITE_BYTES: Final = 16_777_216
"""Most data in one BatchWriteItem call."""

TRANSACTION_ACTIONS: Final = 100
"""Most actions of one transaction, writing or reading.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html"""

TRANSACTION_BYTES: Final = 4_194_304
"""Largest sum of the items of one transaction."""

CLIENT_REQUEST_TOKEN_LENGTH: Final = 36
"""Longest client request token, in characters.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html"""

CLIENT_REQUEST_TOKEN_SECONDS: Final = 600
"""How long the service remembers a client request token, at least."""

STATEMENT_LENGTH: Final = 8_192
"""Longest PartiQL statement, in characters.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html (Statement)"""

BATCH_STATEMENTS: Final = 25
"""Most PartiQL statements of one BatchExecuteStatement call.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html (Statements)"""

WARM_READ_UNITS: Final = 12_000
"""Read units a second that every new on-demand table, and each of its global indexes, can serve at once.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput-scenarios.html"""

WARM_WRITE_UNITS: Final = 4_000
"""Write units a second that every new on-demand table, and each of its global indexes, can serve at once.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput-scenarios.html"""

TAGS_PER_TABLE: Final = 50
"""Most tags of a table."""

RECOVERY_DAYS: Final = 35
"""Most days that continuous backups reach back.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PointInTimeRecoverySpecification.html"""
