"""What is odd about the columns of a source, before anything is learned from them."""
