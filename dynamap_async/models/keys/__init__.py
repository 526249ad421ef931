"""Keys that are more than plain fields: made by templates, spread over shards, telling a table by period."""
