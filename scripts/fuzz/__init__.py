"""`make fuzz`: everything that reads bytes of others, led by coverage, for a bounded time."""
