"""What commands do differently for each kind of model."""
