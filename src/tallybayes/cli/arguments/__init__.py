"""The arguments of the command line: options, families of columns, class weights."""
