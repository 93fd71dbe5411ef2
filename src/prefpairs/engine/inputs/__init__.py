"""From inputs to rows and candidates: which format an input has, and who reads it."""
