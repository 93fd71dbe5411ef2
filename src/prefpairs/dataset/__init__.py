"""What targets share about the rows and files of a dataset."""
