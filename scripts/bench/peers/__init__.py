"""Scripts that others would write for the same job. Each takes INPUT and OUTPUT."""
