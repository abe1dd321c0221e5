"""Where rows come from: files in every format, read in batches of bounded memory."""
