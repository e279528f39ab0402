"""Boxes of trees on the device."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.struct
class TreeData:
    """Trees of boxes, one for each body, all in one set of arrays.

    What a walk needs of a node or an item stands in 32 bytes, which are read at once: the lower corner of its box [m],
    a whole number, the upper corner, another whole number.

    Attributes:
        nodes: of each node; its numbers are where the walk goes on behind all that is below it, and its leaf: the first
            item times 8, and the number of items, which is zero where a node is no leaf.
        boxes: of each item, without numbers.
        corners: particles of each item as it stands in the tree; negative for one that is not there now.
        leaf: the node in which each item is.
        right: a node's second child, -1 for a leaf; the first one follows it.
        parent: the node above each, -1 for the first of a body. arrived: for `fit_up`; zero at other times.
        roots: first node of each body's tree, and the end; behind that those of what has numbers of its own, see
            `Parting`.
    """

    nodes: wp.array2d(dtype=float)
    boxes: wp.array2d(dtype=float)
    corners: wp.array(dtype=wp.vec3i)
    leaf: wp.array(dtype=int)
    right: wp.array(dtype=int)
    parent: wp.array(dtype=int)
    arrived: wp.array(dtype=int)
    roots: wp.array(dtype=int)


@wp.struct
class Course:
    """Where particles are, and where they are expected to go.

    Attributes:
        x, x_next: before and after the step [m].
        v: how fast each is expected to go on [m/s].
        astray: from where that leads in the step to where it ends [m]: what is pressed against something is thrown
            back again and again.
        radius: what is kept free around each [m].
        ahead: for how long all this is to hold [s].
        reach: how far from each other parts are watched [m].
    """

    x: wp.array(dtype=wp.vec3)
    x_next: wp.array(dtype=wp.vec3)
    v: wp.array(dtype=wp.vec3)
    astray: wp.array(dtype=wp.vec3)
    radius: wp.array(dtype=float)
    ahead: wp.array(dtype=float)
    reach: float


@wp.struct
class Box:
    """Where something is and will be soon [m]."""

    low: wp.vec3
    high: wp.vec3


@wp.func
def grown(box: Box, x: wp.vec3, x_next: wp.vec3, v: wp.vec3, ahead: float, around: float) -> Box:
    """A box that also holds a particle now, after the step, and a time ahead [s], with a distance around it [m]."""
    then = x + ahead * v
    wide = wp.vec3(around, around, around)
    out = Box()
    out.low = wp.min(box.low, wp.min(wp.min(x, x_next), then) - wide)
    out.high = wp.max(box.high, wp.max(wp.max(x, x_next), then) + wide)
    return out


@wp.func
def no_box() -> Box:
    """A box that holds nothing."""
    out = Box()
    out.low = wp.vec3(1.0e30, 1.0e30, 1.0e30)
    out.high = wp.vec3(-1.0e30, -1.0e30, -1.0e30)
    return out


@wp.func
def apart(low: wp.vec3, high: wp.vec3, box: Box) -> bool:
    """Whether two boxes do not touch."""
    return (
        low[0] > box.high[0]
        or high[0] < box.low[0]
        or low[1] > box.high[1]
        or high[1] < box.low[1]
        or low[2] > box.high[2]
        or high[2] < box.low[2]
    )


@wp.func
def swept(box: Box, i: int, course: Course, around: float) -> Box:
    """A box that also holds a particle for as long as is looked ahead, with a distance around it [m]."""
    then = course.ahead[0] * course.v[i] + course.astray[i]
    out = grown(box, course.x[i], course.x_next[i], course.v[i], course.ahead[0], around)
    return grown(out, course.x[i], course.x[i] + then, wp.vec3(0.0, 0.0, 0.0), 0.0, around)


@wp.func
def box_of(boxes: wp.array2d(dtype=float), i: int) -> Box:
    out = Box()
    out.low = wp.vec3(boxes[i, 0], boxes[i, 1], boxes[i, 2])
    out.high = wp.vec3(boxes[i, 4], boxes[i, 5], boxes[i, 6])
    return out


@wp.func
def write_box(boxes: wp.array2d(dtype=float), i: int, box: Box):
    for k in range(3):
        boxes[i, k] = box.low[k]
        boxes[i, 4 + k] = box.high[k]


@wp.func
def both(one: Box, two: Box) -> Box:
    """A box around two."""
    out = Box()
    out.low = wp.min(one.low, two.low)
    out.high = wp.max(one.high, two.high)
    return out


@wp.func
def box_item(i: int, course: Course, tree: TreeData):
    corner = tree.corners[i]
    box = no_box()
    # what is not there now has no corners
    if corner[0] >= 0:
        for k in range(3):
            box = swept(box, corner[k], course, course.radius[corner[k]] + course.reach)
    write_box(tree.boxes, i, box)


@wp.kernel
def box_items(start: int, ones: int, course: Course, one_out: TreeData, two_out: TreeData):
    """The box of each item of two trees, the first of which has so many."""
    i = start + wp.tid()
    if i < ones:
        box_item(i, course, one_out)
    else:
        box_item(i - ones, course, two_out)


@wp.func_native("""
return ((const int*)(nodes.data))[8 * (size_t)node + 7];
""")
def leaf_of(nodes: wp.array2d(dtype=float), node: int) -> int:
    """The first item of a leaf times 8, and how many it has."""
    ...


@wp.func
def fit_node(node: int, tree: TreeData):
    """The box of a node, from what is below it."""
    right = tree.right[node]
    box = no_box()
    if right < 0:
        leaf = leaf_of(tree.nodes, node)
        first = leaf // 8
        for i in range(first, first + leaf % 8):
            box = both(box, box_of(tree.boxes, i))
    else:
        box = both(box_of(tree.nodes, node + 1), box_of(tree.nodes, right))
    write_box(tree.nodes, node, box)


@wp.func
def fit_two_levels(node: int, tree: TreeData):
    right = tree.right[node]
    if right >= 0:
        fit_node(node + 1, tree)
        fit_node(right, tree)
    fit_node(node, tree)


@wp.func
def fit_three_levels(node: int, tree: TreeData):
    right = tree.right[node]
    if right >= 0:
        fit_two_levels(node + 1, tree)
        fit_two_levels(right, tree)
    fit_node(node, tree)


@wp.kernel
def fit_levels(
    start: int,
    ones: int,
    one_nodes: wp.array(dtype=int),
    two_nodes: wp.array(dtype=int),
    one_inout: TreeData,
    two_inout: TreeData,
):
    """The boxes of nodes of two trees, and of two levels below them; of the first tree there are so many."""
    k = start + wp.tid()
    if k < ones:
        fit_three_levels(one_nodes[k], one_inout)
    else:
        fit_three_levels(two_nodes[k - ones], two_inout)


@wp.func_native("""
#if defined(__CUDA_ARCH__)
float* nodes = (float*)(tree.nodes.data);
const float* boxes = (const float*)(tree.boxes.data);
int* arrived = (int*)(tree.arrived.data);
const int items = ((const int*)nodes)[8 * (size_t)node + 7];
const int low_of[6] = {0, 1, 2, 4, 5, 6};
float box[6] = {1e30f, 1e30f, 1e30f, -1e30f, -1e30f, -1e30f};
auto hold = [&](const float* other) {
    for (int k = 0; k < 6; ++k) {
        const float v = __ldcg(other + low_of[k]);
        box[k] = k < 3 ? fminf(box[k], v) : fmaxf(box[k], v);
    }
};
for (int i = items >> 3; i < (items >> 3) + (items & 7); ++i) hold(boxes + 8 * (size_t)i);
while (true) {
    for (int k = 0; k < 6; ++k) nodes[8 * (size_t)node + low_of[k]] = box[k];
    node = ((const int*)(tree.parent.data))[node];
    if (node < 0) return;
    // the second one that comes knows both
    __threadfence();
    if (atomicAdd(arrived + node, 1) == 0) return;
    arrived[node] = 0;
    __threadfence();
    const int right = ((const int*)(tree.right.data))[node];
    for (int k = 0; k < 6; ++k) box[k] = k < 3 ? 1e30f : -1e30f;
    hold(nodes + 8 * (size_t)(node + 1));
    hold(nodes + 8 * (size_t)right);
}
#endif
""")
def climb(node: int, tree: TreeData):
    """Fit a leaf, and the nodes above it as far as all below them is fitted."""
    ...


@wp.kernel
def fit_up(
    start: int,
    ones: int,
    one_leaves: wp.array(dtype=int),
    two_leaves: wp.array(dtype=int),
    one: TreeData,
    two: TreeData,
):
    """The boxes of all nodes of two trees in one launch, on CUDA: a thread for each leaf; of the first so many."""
    k = start + wp.tid()
    if k < ones:
        climb(one_leaves[k], one)
    else:
        climb(two_leaves[k - ones], two)
