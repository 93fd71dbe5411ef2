"""`make fuzz`: coverage-guided fuzzing of all readers of foreign bytes, with a time limit."""
