"""The page that `report` writes: charts as SVG, and pairs to browse. Pure: opens no files."""
