"""Stages that pairs pass through: which of them stay, and in which split. One module a command."""
