"""The data of a report about a classifier, for each kind of classifier."""
