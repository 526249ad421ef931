"""Does a library use what a table has, and no more? Each one beside the others, on the simulated table."""
