"""`make bench`: prefpairs and its peers on the same file, in one run."""
