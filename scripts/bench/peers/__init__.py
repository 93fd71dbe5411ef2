"""What others would write for the same job. Each is a script of its own: INPUT OUTPUT."""
