"""How guests reach the network: the broker's doors."""
