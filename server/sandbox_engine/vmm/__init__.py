"""Drivers of virtual machine monitors, and the processes they run."""
