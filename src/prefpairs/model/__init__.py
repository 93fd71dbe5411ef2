"""The records: candidate, pair and message, and what makes two of them the same.

Everything here is pure, and knows nothing about files, formats or the command line.
"""
