"""Bodies at rest fall asleep, stop costing, and wake when something touches them."""
