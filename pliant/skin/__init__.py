"""Surfaces that ride on simulated bodies: positions and normals of their vertices, on the device."""
