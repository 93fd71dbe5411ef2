"""Looks at pairs and candidates: counts, shares and pictures of them. Pure: it opens nothing."""
