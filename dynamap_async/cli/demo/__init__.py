"""``dynamap demo``: published designs on an engine of this process, with their questions, answers and costs."""
