"""Which family a column of numbers is read by, chosen by leave-one-out."""
