"""The operations that move data to and from S3: the form of each, and what carries it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.simulated import bulk_puts, exports, imports

if TYPE_CHECKING:
    from dynamap_async.simulated.constraints import Structure
    from dynamap_async.simulated.service import Service

OPERATIONS: Final[Mapping[str, tuple[Structure, Callable[[Service, dict[str, Any]], dict[str, Any]]]]] = {
    "ExportTableToPointInTime": (exports.EXPORT_TABLE, exports.export_table_to_point_in_time),
    "DescribeExport": (exports.DESCRIBE_EXPORT, exports.describe_export),
    "ListExports": (exports.LIST_EXPORTS, exports.list_exports),
    "ImportTable": (imports.IMPORT_TABLE, imports.import_table),
    "DescribeImport": (imports.DESCRIBE_IMPORT, imports.describe_import),
    "ListImports": (imports.LIST_IMPORTS, imports.list_imports),
    "StartBulkPutItems": (bulk_puts.START_BULK_PUT_ITEMS, bulk_puts.start_bulk_put_items),
    "DescribeBulkOperation": (bulk_puts.DESCRIBE_BULK_OPERATION, bulk_puts.describe_bulk_operation),
    "ListBulkOperations": (bulk_puts.LIST_BULK_OPERATIONS, bulk_puts.list_bulk_operations),
    "CancelBulkOperation": (bulk_puts.CANCEL_BULK_OPERATION, bulk_puts.cancel_bulk_operation),
}
