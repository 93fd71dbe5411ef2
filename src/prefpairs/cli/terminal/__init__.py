"""Text for people: summaries, errors, help, progress."""
