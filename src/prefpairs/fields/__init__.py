"""Where the fields of a row are and what they hold: shared by the sources."""
