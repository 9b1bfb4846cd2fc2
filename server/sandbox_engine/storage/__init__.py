"""Adapters that keep what outlives a VM."""
