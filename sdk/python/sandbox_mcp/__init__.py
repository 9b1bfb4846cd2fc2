"""`sandbox-mcp`: the engine's sandboxes as tools of the Model Context Protocol."""
