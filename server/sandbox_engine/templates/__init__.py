"""Builds snapshot templates, keeps them, and proves that they are what they were."""
