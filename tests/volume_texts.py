"""Small volume meshes as texts, and how tests write, read and compare them."""

from pathlib import Path

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh.io import (
    medit,
    netgen,
    through_meshio,
)
from pliant.mesh.tets import TetMesh

SHARED = Path(__file__).parents[2] / "shared" / "meshes"
SUFFIXES = {".mesh": medit, ".vol": netgen, ".msh": through_meshio, ".vtk": through_meshio, ".vtu": through_meshio}
TEXT_SUFFIXES = [".mesh", ".vol"]
POINTS = "0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
MEDIT = """MeshVersionFormatted 2

Dimension
3

Vertices
4
0 0 0 7
1 0 0 7
0 1 0 7
0 0 1 7

Tetrahedra
1
1 2 3 4 5

End
"""
VOL = """# a comment
mesh3d
dimension
3
geomtype
11

# surfnr    bcnr   domin  domout      np      p1      p2      p3
surfaceelementsgi
1
 2 1 1 0 3 1 2 3 1 1 1

#  matnr      np      p1      p2      p3      p4
volumeelements
2
 1 4 1 3 2 4
 1 4 2 3 5 4

     surf1      surf2      p1      p2
edgesegmentsgi2
1
1 0 1 2 -1 -1 0 0 1 0 1 0.5

#          X             Y             Z
points
5
 0.0 0.0 0.0
 1.0 0.0 0.0
 0.0 1.0 0.0
 0.0 0.0 1.0
 1.0 1.0 1.0

materials
1
1 steel

bcnames
2
1\touter
2\t

face_colours
1
 2 0.0 1.0 0.0

endmesh

csgsurfaces 1
"""
NEUTRAL = f"4\n{POINTS}1\n 1    1 3 2 4\n4\n1 1 3 2\n1 1 2 4\n1 1 4 3\n1 2 3 4\n"


def put(folder, suffix, text):
    path = folder / f"duck{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(path):
    return SUFFIXES[path.suffix].read(path)


def written(folder, mesh, suffix):
    if SUFFIXES[suffix] is through_meshio:
        pytest.importorskip("meshio")
    path = folder / f"duck{suffix}"
    SUFFIXES[suffix].write(mesh, path)
    return path


def elements(mesh):
    return mesh.tets if isinstance(mesh, TetMesh) else mesh.triangles


def same(one, other):
    return (
        type(one) is type(other)
        and np.array_equal(one.vertices, other.vertices)
        and np.array_equal(elements(one), elements(other))
    )


def fails(folder, suffix, text, *expected):
    """Reading must raise an `InputError` that holds every one of ``expected``."""
    path = put(folder, suffix, text)
    with pytest.raises(InputError) as caught:
        read(path)
    message = str(caught.value)
    assert str(path) in message and caught.value.remedy
    for part in expected:
        assert part in message
    return message
