"""A small shop: FastAPI, GraphQL and one page over one DynamoDB table. Start it with ``python -m shop``."""
