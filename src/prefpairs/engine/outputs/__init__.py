"""What a run leaves: datasets, their manifest, and what may be replaced."""
