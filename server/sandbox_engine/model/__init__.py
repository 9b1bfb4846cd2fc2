"""The engine's records and rules.  Pure: no I/O, no clock, no locks."""
