"""Did this library become dearer than it was at another commit? Both are measured side by side, without a network."""
