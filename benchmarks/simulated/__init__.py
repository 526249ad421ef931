"""A DynamoDB in memory that sells capacity: for acceptance and benchmarks, no engine to test against.

It charges units by the service's rules and refuses what a table, an index or a partition has no units for. Its
arithmetic is written from AWS's guide and imports nothing of ``dynamap_async``, so that it can judge it.
"""
