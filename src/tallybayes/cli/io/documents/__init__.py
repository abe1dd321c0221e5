"""Documents for the command line: folders of files, mailboxes, single files and columns of text."""
