"""The legacy door: length-prefixed frames on a Unix socket (seed "Wire protocol")."""
