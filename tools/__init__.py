"""Development tools; nothing here is shipped."""
