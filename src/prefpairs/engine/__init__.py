"""What runs a plan. Engines know files, indexes and order; they never look inside a row."""
