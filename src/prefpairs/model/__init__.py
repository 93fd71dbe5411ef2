"""The nouns: candidate, pair, message, and what makes two of them the same.

Everything here is pure and knows nothing of files, formats or the command line.
"""
