"""What the engine's services need of the world, as protocols with contracts."""
