"""The studio: see a simulation in a browser, touch it, change it, compare methods, record and export."""
