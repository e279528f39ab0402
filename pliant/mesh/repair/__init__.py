"""What is wrong with a surface, and what can be done about it."""
