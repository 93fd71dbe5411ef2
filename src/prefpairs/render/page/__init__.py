"""The page that `report` writes: charts drawn in advance, and pairs to browse. Pure."""
