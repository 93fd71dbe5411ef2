"""Candidates as columns: filled from lines, ranked, and decided group by group."""
