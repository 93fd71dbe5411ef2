"""What targets share about conversations: cutting, flattening, chat templates and tokens."""
