"""Figures about candidates and pairs: surveys, comparisons, differences. Pure: opens no files."""
