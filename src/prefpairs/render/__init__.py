"""Pairs and figures as text, Markdown and HTML. Pure: opens no files."""
