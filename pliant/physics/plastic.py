"""Plastic flow of a tet: what it keeps of its strain once that is beyond the yield strain."""

import warp as wp

from pliant.physics.polar import spectral_norm


@wp.func
def plastic_factor(stretch: wp.mat33, yield_strain: float, share: float) -> wp.mat33:
    """The matrix G by which elastic strain becomes permanent: F_p becomes G^-1 F_p, and F_e becomes F_e G.

    Of the deviator d of the strain S - I, whose size is its largest principal value, the part beyond the yield strain
    flows: G^-1 = (I + share (1 - yield / |d|) d), scaled to keep the volume. The identity where nothing flows.

    Args:
        stretch: S of the elastic deformation F_e = R S.
        share: of what is beyond the yield strain that flows in the step, at most 1.
    """
    one = wp.identity(n=3, dtype=float)
    d = 0.5 * (stretch + wp.transpose(stretch)) - (wp.trace(stretch) / 3.0) * one
    size = spectral_norm(d)
    if not (size > yield_strain and size < 1.0e3):
        return one
    g = one + (share * (1.0 - yield_strain / size)) * d
    volume = wp.determinant(g)
    if not (volume > 1.0e-3):
        return one
    return wp.pow(volume, 1.0 / 3.0) * wp.inverse(g)


@wp.func
def permanent_strain(shape: wp.mat33) -> float:
    """The largest |principal stretch - 1| of a permanent deformation F_p; huge where it is none."""
    if not (wp.abs(wp.determinant(shape)) > 1.0e-6):
        return 1.0e6
    return wp.max(spectral_norm(shape) - 1.0, 1.0 - 1.0 / spectral_norm(wp.inverse(shape)))
