"""Terms of a weighted model: columns and pairs, the search for pairs, scores left out."""
