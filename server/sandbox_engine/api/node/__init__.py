"""The second seed's HTTP API: JSON requests, and upgrades that become relays."""
