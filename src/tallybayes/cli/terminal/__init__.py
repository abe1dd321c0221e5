"""The terminal: messages, tables, progress, help, failures and interrupts."""
