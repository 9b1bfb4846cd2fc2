"""`sandbox-cli`: a client of the daemon, for people and scripts."""
