"""Greedy colouring: each kernel runs in one thread, since every choice depends on the ones before."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.kernel
def first_fit(
    elements: wp.array2d(dtype=int),
    starts: wp.array(dtype=int),
    items: wp.array(dtype=int),
    order: wp.array(dtype=int),
    stamp: wp.array(dtype=int),
    color_out: wp.array(dtype=int),
):
    """Give each element, in order, the lowest colour that none of the elements around its corners has.

    ``items[starts[v]:starts[v + 1]]`` are what must differ from an element with corner v; color_out holds -1 where
    there is no colour yet; stamp is filled with -1 and longer than there can be colours.
    """
    corners = elements.shape[1]
    for place in range(order.shape[0]):
        e = order[place]
        for c in range(corners):
            v = elements[e, c]
            for k in range(starts[v], starts[v + 1]):
                other = color_out[items[k]]
                if other >= 0:
                    stamp[other] = place
        color = int(0)
        while stamp[color] == place:
            color += 1
        color_out[e] = color


@wp.kernel
def even_out(
    elements: wp.array2d(dtype=int),
    starts: wp.array(dtype=int),
    items: wp.array(dtype=int),
    stamp: wp.array(dtype=int),
    size_out: wp.array(dtype=int),
    color_out: wp.array(dtype=int),
):
    """Move each element to the smallest colour it may have, if that stays smaller than its own; size_out counts."""
    colors = size_out.shape[0]
    corners = elements.shape[1]
    for e in range(elements.shape[0]):
        own = color_out[e]
        for c in range(corners):
            v = elements[e, c]
            for k in range(starts[v], starts[v + 1]):
                stamp[color_out[items[k]]] = e
        best = own
        for color in range(colors):
            if stamp[color] != e and size_out[color] + 1 < size_out[best]:
                best = color
        if best != own:
            size_out[own] = size_out[own] - 1
            size_out[best] = size_out[best] + 1
            color_out[e] = best
