"""What two or more methods use."""
