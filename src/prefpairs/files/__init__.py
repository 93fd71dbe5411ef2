"""Bytes to records and back. The only room that opens anything."""
