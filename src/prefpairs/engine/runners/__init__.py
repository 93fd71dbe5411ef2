"""Runs of a plan in steps, by processes that share nothing but files."""
