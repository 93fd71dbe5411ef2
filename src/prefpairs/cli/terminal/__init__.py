"""What people read: summaries, errors, help, progress."""
