"""Scored rollouts in, trainable preference pairs out."""

__version__ = "0.2.0"
