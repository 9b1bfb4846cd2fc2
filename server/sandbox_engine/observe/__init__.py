"""How the engine is watched: logs, metrics, and the one place that starts tasks."""
