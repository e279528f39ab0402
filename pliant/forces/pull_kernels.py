"""Kernels of pulls: sums over the particles that each pull holds, and forces gathered per held particle."""

import warp as wp

wp.set_module_options({"enable_backward": False})

# Most pulls at once, most particles of one, and the threads that share the sum over them.
SLOTS = 16
MEMBERS = 256
LANES = 16


@wp.struct
class PullData:
    """One pull; no particles where the slot is free.

    Attributes:
        count: particles that it holds.
        target: where their weighted point is pulled to [m].
        stiffness: [N/m]. damping: [N s/m].
    """

    count: int
    target: wp.vec3
    stiffness: float
    damping: float


@wp.func
def pull_force(pull: PullData, slot: int, way: wp.array(dtype=wp.vec3), speed: wp.array(dtype=wp.vec3)) -> wp.vec3:
    """k (target - x_p) - c v_p of one pull [N], from the sums of its lanes."""
    to_target = wp.vec3(0.0, 0.0, 0.0)
    v = wp.vec3(0.0, 0.0, 0.0)
    for lane in range(LANES):
        to_target += way[slot * LANES + lane]
        v += speed[slot * LANES + lane]
    return pull.stiffness * to_target - pull.damping * v


@wp.kernel
def sum_members(
    pulls: wp.array(dtype=PullData),
    member: wp.array(dtype=int),
    weight: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    way_out: wp.array(dtype=wp.vec3),
    speed_out: wp.array(dtype=wp.vec3),
):
    """Shares of target - x_p [m] and of v_p [m/s] of every 16th particle; one thread per slot and lane.

    The weights add up to 1, so that distances are summed instead of positions and nothing cancels.
    """
    k = wp.tid()
    slot = k // LANES
    pull = pulls[slot]
    way = wp.vec3(0.0, 0.0, 0.0)
    speed = wp.vec3(0.0, 0.0, 0.0)
    for m in range(k % LANES, pull.count, LANES):
        i = member[slot * MEMBERS + m]
        share = weight[slot * MEMBERS + m]
        way += share * (pull.target - x[i])
        speed += share * v[i]
    way_out[k] = way
    speed_out[k] = speed


@wp.kernel
def apply_pulls(
    pulls: wp.array(dtype=PullData),
    rows: wp.array(dtype=int),
    row_particle: wp.array(dtype=int),
    row_starts: wp.array(dtype=int),
    entry_slot: wp.array(dtype=int),
    entry_weight: wp.array(dtype=float),
    way: wp.array(dtype=wp.vec3),
    speed: wp.array(dtype=wp.vec3),
    f_ext_out: wp.array(dtype=wp.vec3),
):
    """Write w_i F of all pulls that hold a particle; one thread per held particle. Pulls come before other forces."""
    r = wp.tid()
    if r >= rows[0]:
        return
    force = wp.vec3(0.0, 0.0, 0.0)
    for e in range(row_starts[r], row_starts[r + 1]):
        slot = entry_slot[e]
        force += entry_weight[e] * pull_force(pulls[slot], slot, way, speed)
    f_ext_out[row_particle[r]] = force


@wp.kernel
def measure_pulls(
    pulls: wp.array(dtype=PullData),
    way: wp.array(dtype=wp.vec3),
    speed: wp.array(dtype=wp.vec3),
    way_out: wp.array(dtype=wp.vec3),
    force_out: wp.array(dtype=wp.vec3),
):
    """target - x_p [m] and the force [N] of each slot, one thread per slot."""
    slot = wp.tid()
    total = wp.vec3(0.0, 0.0, 0.0)
    for lane in range(LANES):
        total += way[slot * LANES + lane]
    way_out[slot] = total
    force_out[slot] = pull_force(pulls[slot], slot, way, speed)
