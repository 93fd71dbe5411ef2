"""Scored rollouts in, preference datasets that really train out."""

__version__ = "0.1.0"
