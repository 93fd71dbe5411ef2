"""What trainers share about conversations: cutting, templates, tool text and tokens."""
