"""The kernel that sets the external force to zero before every force adds its own."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def clear_force(start: int, f_ext_out: wp.array(dtype=wp.vec3)):
    f_ext_out[start + wp.tid()] = wp.vec3(0.0, 0.0, 0.0)
