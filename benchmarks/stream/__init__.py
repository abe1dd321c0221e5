"""Documents as a stream: predicted, then learned, one by one."""
