"""What a report reads of a classifier, for each kind of classifier."""
