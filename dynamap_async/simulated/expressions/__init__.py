"""DynamoDB's expressions: read from text, and evaluated on items in wire form."""
