"""Made-up rollouts of any number: the same arguments give the same bytes, on any machine."""
