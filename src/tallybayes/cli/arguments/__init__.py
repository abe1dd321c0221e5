"""What the command line is given: options, families of columns, class weights."""
