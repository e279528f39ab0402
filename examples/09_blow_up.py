"""A step that is too large blows the simulation up; Pliant stops, explains it, and stands at the last good frame."""

import warnings

import pliant


def build(substeps: int | None = 3) -> pliant.Scene:
    scene = pliant.Scene(name="blow-up", substeps=substeps)
    scene.add_body(pliant.shapes.ball(0.3, cells=4), "rubber", position=(0, 0.5, 0), name="ball")
    scene.add_plane()
    return scene


def check(sim: pliant.Simulation) -> None:
    assert any("larger than" in note for note in sim.notes), "building the scene has warned of it"
    try:
        sim.frame(120)
    except pliant.BlowUpError as error:
        details = error.details
    else:
        raise AssertionError("it should have blown up")
    assert details["body"] == "ball"
    assert details["step"] > details["stable_step"], "the step used, and the one that would be stable"
    assert sim.frame_number == details["last_good_frame"] == details["frame"] - 1
    assert sim.diagnostics().finite, "the state is that of the last good frame"

    steady = build(substeps=None).build(sim.device)  # chosen from the stable step
    steady.frame(60)
    assert steady.diagnostics().max_stretch < 2.0


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim = build().build()
    try:
        sim.frame(120)
    except pliant.BlowUpError as error:
        print(error)


if __name__ == "__main__":
    main()
