"""Takes the pictures of the studio for the documentation: python tools/studio_pictures.py [NAME ...]."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from e2e.running_studio import DROP, Studio, Visitor  # noqa: E402
from headless import FLAGS, find_browser  # noqa: E402

from pliant.mesh.assets import asset  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SCREEN = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
MOST_BYTES = 250_000


def settle(visitor: Visitor, seconds: float) -> None:
    """Let a scene run for some seconds of its own, and stop it there."""
    visitor.ask("play")
    visitor.until_time(seconds)
    visitor.ask("pause")
    visitor.until("!pliantView.last.stats.playing")


def begin(visitor: Visitor, scene: str, seconds: float = 1.5) -> None:
    """Open a shipped scene and let it run for a while."""
    visitor.ask("compare", lanes=[])
    visitor.ask("heat", name=None)
    visitor.ask("open", scene=scene)
    visitor.until("name => pliantView.world?.header.name === name", scene)
    settle(visitor, seconds)
    visitor.page.evaluate("pliantView.hud.toggle(true)")


def pull(visitor: Visitor, body: str, right: float, up: float, seconds: float = 0.8) -> None:
    """Drag a body by its highest point for some seconds of its own, and hold it there, with time stopped."""
    place = visitor.grabbable(visitor.number(body))
    visitor.ask("play")
    mouse = visitor.page.mouse
    mouse.move(place["x"], place["y"])
    mouse.down()
    visitor.until("pliantView.last.pulls.length === 1")
    mouse.move(place["x"] + right, place["y"] - up, steps=12)
    visitor.until_time(seconds)
    visitor.ask("pause")
    visitor.until("!pliantView.last.stats.playing")


def keep(visitor: Visitor, name: str) -> None:
    """Take the picture, finely drawn, and write it with few colours."""
    from PIL import Image

    count = (
        "() => { const n = pliantView.stats.drawings; pliantView.stage.setQuality(0); pliantView.touch(); return n; }"
    )
    drawn = visitor.page.evaluate(count)
    visitor.until("n => pliantView.stats.drawings > n", drawn)
    picture = Image.open(io.BytesIO(visitor.page.screenshot(animations="disabled"))).convert("RGB")
    target = IMAGES / f"{name}.png"
    picture.save(target, optimize=True)
    for colors in (256, 128, 64):
        if target.stat().st_size < MOST_BYTES:
            break
        # dithered, so that what is round looks round
        palette = picture.quantize(colors, method=Image.Quantize.MEDIANCUT)
        picture.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).save(target, optimize=True)
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1000:.0f} kB", flush=True)


# ---- the pictures ---------------------------------------------------------------------------------------------------


def studio(visitor: Visitor) -> None:
    begin(visitor, "welcome")
    visitor.page.evaluate("pliantView.hud.toggle(false)")
    keep(visitor, "studio")


def studio_drag(visitor: Visitor) -> None:
    begin(visitor, "welcome")
    pull(visitor, "bunny", 50, 130)
    keep(visitor, "studio_drag")
    visitor.page.mouse.up()


def studio_heat(visitor: Visitor) -> None:
    begin(visitor, "welcome")
    visitor.ask("heat", name="strain")
    visitor.until("pliantView.heat === 'strain'")
    visitor.page.evaluate("pliantView.setStrength(6)")
    pull(visitor, "bunny", 50, 150, 0.25)
    keep(visitor, "studio_heat")
    visitor.page.mouse.up()
    visitor.ask("heat", name=None)


def studio_slice(visitor: Visitor) -> None:
    begin(visitor, "drop")
    visitor.page.get_by_label("Tets cut by a plane").click()
    visitor.until("pliantView.world.lanes[0].bodies.some((body) => body.slice?.mesh.visible)")
    keep(visitor, "studio_slice")
    visitor.page.get_by_label("Tets cut by a plane").click()


def studio_clusters(visitor: Visitor) -> None:
    begin(visitor, "bars", 1.0)
    visitor.page.get_by_label("Clusters coloured").click()
    visitor.until("pliantView.shown.clusters")
    keep(visitor, "studio_clusters")
    visitor.page.get_by_label("Clusters coloured").click()


def studio_compare(visitor: Visitor) -> None:
    begin(visitor, "welcome", 0.1)
    visitor.click("tab-compare")
    visitor.click("compare-start")
    visitor.until("pliantView.world.lanes.length === 2")
    settle(visitor, 1.2)
    visitor.page.evaluate("pliantView.frameScene()")
    visitor.until("[...document.querySelectorAll('.pv-caption')].some((c) => /error [0-9.]+ mm/.test(c.innerText))")
    keep(visitor, "studio_compare")
    visitor.click("compare-stop")
    visitor.click("tab-properties")


def studio_add(visitor: Visitor) -> None:
    begin(visitor, "welcome")
    visitor.page.evaluate(DROP, ["torn bunny.obj", torn_mesh()])
    visitor.find("upload-report").wait_for()
    keep(visitor, "studio_add")
    visitor.click("add-body-cancel")
    visitor.find("add-body-cancel").wait_for(state="hidden")


def studio_record(visitor: Visitor) -> None:
    begin(visitor, "welcome", 0.1)
    visitor.click("tab-record")
    for name in ("first try", "second try"):
        visitor.find("record-name").fill(name)
        visitor.click("record")
        visitor.until("name => pliantView.last.stats.recording === name", name)
        settle(visitor, 1.0)
        visitor.click("record")
        visitor.find(f"recording-{name}").wait_for()
    for kind in ("glb", "mp4"):
        visitor.click("export-menu-second try")
        visitor.click(f"export-{kind}")
        visitor.page.locator(f"[data-testid^=download-] >> text=second try.{kind}").wait_for()
    visitor.find("record-name").fill("third try")
    visitor.click("record")
    visitor.until("pliantView.last.stats.recording === 'third try'")
    keep(visitor, "studio_record")
    visitor.click("record")
    visitor.click("tab-properties")


def studio_phone(visitor: Visitor) -> None:
    begin(visitor, "welcome")
    visitor.page.evaluate("pliantView.frameScene()")
    pull(visitor, "bunny", 20, 80)
    keep(visitor, "studio_phone")
    visitor.page.mouse.up()


def studio_soft(visitor: Visitor) -> None:
    begin(visitor, "welcome")
    visitor.ask("set", target={"material": "bunny"}, key="young", value=1.2e4)
    settle(visitor, 1.5)
    keep(visitor, "studio_soft")


def studio_reconnect(visitor: Visitor) -> None:
    begin(visitor, "welcome")
    visitor.server.kill()
    visitor.page.locator(".pv-badge").wait_for()
    keep(visitor, "studio_reconnect")


PICTURES: list[Callable[[Visitor], None]] = [
    *(studio, studio_drag, studio_heat, studio_slice, studio_clusters),
    *(studio_compare, studio_add, studio_record, studio_phone),
    *(studio_soft, studio_reconnect),  # the last one ends the server
]


def torn_mesh() -> str:
    """A sample as an OBJ file that must be repaired: a hole, a triangle twice, triangles the wrong way round."""
    mesh = asset("small_bunny")
    triangles = mesh.triangles.tolist()
    for k in range(100, 140):
        triangles[k] = triangles[k][::-1]
    triangles = [*triangles[:-6], triangles[0]]
    lines = [f"v {x:.5f} {y:.5f} {z:.5f}" for x, y, z in mesh.vertices]
    return "\n".join(lines + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in triangles]) + "\n"


def main(names: list[str]) -> int:
    from playwright.sync_api import sync_playwright

    wanted = [picture for picture in PICTURES if not names or picture.__name__ in names]
    found, reason = find_browser()
    if found is None:
        print(reason, file=sys.stderr)
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Studio(Path(folder) / "project", "welcome", "--paused")
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        try:
            for picture in wanted:
                phone = picture is studio_phone
                options = {"viewport": PHONE, "device_scale_factor": 2, "has_touch": True, "is_mobile": True}
                visitor = Visitor(browser, server.link, **(options if phone else {"viewport": SCREEN}))
                visitor.server = server
                picture(visitor)
                visitor.close()
        finally:
            browser.close()
            server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
