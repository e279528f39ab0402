"""Forces from outside: each adds to the external force of the particles it acts on."""
