"""Scored rollouts in, trainable preference pairs out."""

__version__ = "0.1.0"
