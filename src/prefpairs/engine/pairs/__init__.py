"""Pairs from candidates, from files of pairs or of a trainer, and through stages."""
