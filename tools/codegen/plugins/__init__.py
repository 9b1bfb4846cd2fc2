"""Local buf plugins, where a language's own generator is not a plugin by itself."""
