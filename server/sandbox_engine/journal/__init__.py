"""The engine's durable record, on SQLite."""
