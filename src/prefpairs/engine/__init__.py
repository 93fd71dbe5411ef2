"""The steps of a run. They know files, indexes and order, and never look inside a row."""
