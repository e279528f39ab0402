"""A surface becomes a solid: distances, tets that follow it, voxels around it."""
