"""The view in a browser, fed by a made-up stream."""

from __future__ import annotations

import json
import math
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("nicegui")
pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
WAIT = 60_000  # a browser that draws in software is slow, and slower beside other tests


class Server:
    """The made-up stream in a process of its own."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, str(HERE / "fake_stream.py"), str(port), "--camera"]
        # NiceGUI behaves differently where it believes itself under test
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "NICEGUI"))}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, cwd=HERE.parent.parent, stdout=pipe, stderr=subprocess.STDOUT, env=clean
        )
        end = time.monotonic() + 60
        while True:
            try:
                self.get("/log")
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    self.process.kill()
                    output = self.process.communicate()[0].decode()
                    pytest.fail(f"the server did not start: {output[-2000:]}")
                time.sleep(0.1)

    def get(self, path: str):
        with urllib.request.urlopen(self.url + path, timeout=20) as answer:
            return json.load(answer)

    def commands(self, until: str, seconds: float = 30.0) -> list[dict]:
        """The commands received, up to one of a name."""
        found: list[dict] = []
        end = time.monotonic() + seconds
        while not any(command["do"] == until for command in found):
            assert time.monotonic() < end, f"no {until!r} in {found}"
            found += self.get("/log")
            time.sleep(0.05)
        return found

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.stop()


def opened(browser, server, **options):
    """A page with the view, after its first pictures; it remembers its errors and its requests."""
    context = browser.new_context(**options)
    page = context.new_page()
    page.set_default_timeout(WAIT)
    page.troubles, page.requested = [], []
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.on("console", lambda line: page.troubles.append(line.text) if line.type == "error" else None)
    page.on("request", lambda request: page.requested.append(request.url))
    page.goto(server.url)
    page.wait_for_function("window.pliantView?.stats.drawings > 0 && pliantView.world")
    return page


@pytest.fixture(scope="module")
def shared_page(browser, server):
    page = opened(browser, server, viewport={"width": 900, "height": 440})
    yield page
    page.context.close()


@pytest.fixture
def page(shared_page, server):
    """The page, live and with the drag tool, and an empty log."""
    shared_page.evaluate("pliantView.chooseTool('drag')")
    server.get("/log")
    return shared_page


def frames(page, more: int = 2) -> None:
    """Waits until some more frames were applied."""
    seen = page.evaluate("pliantView.stats.applications")
    page.wait_for_function("n => pliantView.stats.applications >= n", arg=seen + more)


def front_vertex(page, lane: int = 0, body: int = 1) -> dict:
    """The vertex of a body that is nearest to the eye: its number, place and place on the page."""
    return page.evaluate(
        """([lane, number]) => {
          const body = pliantView.world.lanes[lane].bodies[number], eye = pliantView.stage.camera.position;
          let best = 0, least = Infinity;
          for (let v = 0; v < body.about.vertices; v++) {
            const [x, y, z] = body.vertex(v), away = Math.hypot(x - eye.x, y - eye.y, z - eye.z);
            if (away < least) { least = away; best = v; }
          }
          return {vertex: best, at: body.vertex(best), ...pliantView.placeOf(lane, number, best)};
        }""",
        [lane, body],
    )


def paused(page) -> None:
    page.evaluate("pliantView.stream.send('pause')")
    page.wait_for_function("pliantView.last.stats.playing === false")
    frames(page)


def test_frames_are_applied_and_nothing_comes_from_outside(page, server):
    frames(page, 5)  # more than may wait unacknowledged
    assert page.evaluate("pliantView.stats.scene") >= 1
    assert page.evaluate("pliantView.stage.renderer.info.render.triangles") > 3674
    assert all(
        url.startswith((server.url, server.url.replace("http", "ws"), "data:", "blob:")) for url in page.requested
    )
    assert page.evaluate(
        "[...document.querySelectorAll('.pliant-view button:not([aria-label])')].every(b => b.textContent)"
    )
    assert page.troubles == []


def test_positions_are_those_of_the_message(page):
    # vertex 0 of the ball is its upper pole, which the formula moves in a known way
    paused(page)
    found = page.evaluate("({at: pliantView.world.lanes[0].bodies[1].vertex(0), time: pliantView.last.time})")
    sway = 0.12 * 0.14
    expected = [0.14 + sway * math.sin(4 * found["time"]), 0.14, 0.05 + sway * math.cos(3 * found["time"])]
    assert found["at"] == pytest.approx(expected, abs=1e-5)


def test_keys_toggle_what_is_shown(page, server):
    for key, name in [
        ("w", "wireframe"),
        ("v", "particles"),
        ("c", "clusters"),
        ("k", "contacts"),
        ("g", "slice"),
        ("h", "heat"),
    ]:
        page.keyboard.press(key)
        page.wait_for_function("name => pliantView.displays.shown[name]", arg=name)
    wanted = [command for command in server.commands("heat") if command["do"] in ("layers", "heat")]
    assert wanted[-1]["name"] == "strain"
    assert wanted[-2]["particles"] and wanted[-2]["contacts"]
    page.wait_for_function("pliantView.world.lanes[0].bodies[0].slice.mesh.visible")
    body = "pliantView.world.lanes[0].bodies[0]"
    assert page.evaluate(f"{body}.points.visible && !{body}.skin.visible")
    page.wait_for_function(
        "pliantView.world.lanes[0].marks.contacts?.visible && pliantView.world.lanes[0].marks.arrows.count > 0"
    )
    assert page.locator(".pv-legend").is_visible() and "strain" in page.locator(".pv-legend").inner_text()
    for key in "wvckgh":
        page.keyboard.press(key)
    page.wait_for_function("Object.values(pliantView.displays.shown).every(on => !on)")
    frames(page)
    page.wait_for_function(f"{body}.skin.visible && !{body}.points.visible")
    assert page.troubles == []


def test_slice_shows_the_boundary_of_the_tets_that_stay(page):
    # half of a block of 7 x 7 x 7 cells: the faces that are shown bound a closed solid, each edge is met evenly
    page.evaluate("pliantView.displays.toggle('slice'); pliantView.displays.setSlice({axis: 1, place: 0.5})")
    page.wait_for_function("pliantView.world.lanes[0].bodies[1].slice.mesh.visible")
    counts = page.evaluate(
        """() => {
          const slice = pliantView.world.lanes[0].bodies[1].slice, index = slice.mesh.geometry.index.array;
          const edges = new Map();
          for (let t = 0; t < index.length; t += 3) for (let k = 0; k < 3; k++) {
            const a = index[t + k], b = index[t + (k + 1) % 3], key = a < b ? `${a} ${b}` : `${b} ${a}`;
            edges.set(key, (edges.get(key) ?? 0) + 1);
          }
          return {odd: [...edges.values()].filter((n) => n % 2).length, faces: index.length / 3, all: slice.tets.length,
                  inner: slice.mesh.geometry.groups[1].count / 3};
        }"""
    )
    page.evaluate("pliantView.displays.toggle('slice')")
    assert counts["odd"] == 0
    assert counts["inner"] >= 2 * 7 * 7
    assert counts["faces"] < counts["all"]


def test_a_ray_hits_the_vertex_it_is_aimed_at(page):
    paused(page)
    for body in (0, 1):
        front = front_vertex(page, body=body)
        hit = page.evaluate(
            """({x, y}) => {
              const hit = pliantView.tools.hit(pliantView.tools.pointer({clientX: x, clientY: y}));
              return hit && {body: hit.body.number, vertex: hit.vertex, point: hit.point.toArray()};
            }""",
            front,
        )
        assert hit and hit["body"] == body
        assert hit["point"] == pytest.approx(front["at"], abs=2e-3)
        near = page.evaluate("([b, v]) => pliantView.world.lanes[0].bodies[b].vertex(v)", [body, hit["vertex"]])
        assert near == pytest.approx(front["at"], abs=2e-2)
    corner = "pliantView.tools.hit(pliantView.tools.pointer({clientX: 890, clientY: 10}))"
    assert page.evaluate(corner) is None


def test_drag_grabs_the_vertex_and_its_target_follows_the_pointer(page, server):
    paused(page)
    front = front_vertex(page)
    page.mouse.move(front["x"], front["y"])
    page.mouse.down()
    for step in (10, 20, 30):
        page.mouse.move(front["x"] + step, front["y"] - step)
        frames(page, 1)
    page.wait_for_function("pliantView.stats.latencies.length > 0")
    page.mouse.up()
    commands = server.commands("release")
    names = [command["do"] for command in commands]
    grab = next(command for command in commands if command["do"] == "grab")
    drags = [command for command in commands if command["do"] == "drag"]
    assert names.index("grab") < names.index("drag") < names.index("release")
    assert grab["body"] == "ball" and grab["strength"] == 1.0
    assert grab["at"] == pytest.approx(front["at"], abs=2e-3)
    held = page.evaluate("v => pliantView.world.lanes[0].bodies[1].about.vertices > v", grab["vertex"])
    assert held
    assert [drag["seq"] for drag in drags] == sorted({drag["seq"] for drag in drags})
    place = page.evaluate("p => pliantView.stage.project(p, 0)", drags[-1]["target"])
    assert (place["x"], place["y"]) == pytest.approx((front["x"] + 30, front["y"] - 30), abs=1.0)
    assert page.evaluate("pliantView.dragging === null && pliantView.stage.controls.enabled")


def test_drag_goes_on_when_the_scene_is_built_anew(page, server):
    front = front_vertex(page)
    page.mouse.move(front["x"], front["y"])
    page.mouse.down()
    page.mouse.move(front["x"] + 9, front["y"])
    number = page.evaluate("pliantView.world.number")
    server.get("/do?what=rebuild")
    page.wait_for_function("n => pliantView.world.number > n", arg=number)
    server.get("/log")
    page.mouse.move(front["x"] + 20, front["y"])
    assert "release" not in [command["do"] for command in server.commands("drag")]
    page.mouse.up()
    server.commands("release")


def test_drag_ends_when_the_window_loses_the_pointer(page, server):
    front = front_vertex(page)
    page.mouse.move(front["x"], front["y"])
    page.mouse.down()
    server.commands("grab")
    page.evaluate("window.dispatchEvent(new Event('blur'))")
    server.commands("release")
    page.mouse.up()
    assert page.evaluate("pliantView.tools.gesture === null")


def test_dragging_empty_space_turns_the_camera(page, server):
    before = page.evaluate("pliantView.stage.camera.position.toArray()")
    page.mouse.move(700, 120)
    page.mouse.down()
    page.mouse.move(740, 150, steps=3)
    page.mouse.up()
    page.wait_for_function(
        "p => pliantView.stage.camera.position.toArray().some((v, i) => Math.abs(v - p[i]) > 0.01)", arg=before
    )
    assert not [command for command in server.commands("camera") if command["do"] == "grab"]
    page.evaluate("pliantView.look.unframed = true")
    frames(page)


def test_tools_send_their_commands(page, server):
    paused(page)
    front = front_vertex(page)
    for key, command in [("t", "throw"), ("b", "unpoke"), ("x", "cut")]:
        page.keyboard.press(key)
        page.mouse.move(front["x"], front["y"])
        page.mouse.down()
        page.mouse.move(front["x"] + 40, front["y"], steps=3)
        frames(page, 1)
        page.mouse.up()
        found = server.commands(command)
        if command == "throw":
            assert found[-1]["body"] == "ball" and found[-1]["velocity"][0] > 0.05
        elif command == "unpoke":
            poke = [one for one in found if one["do"] == "poke"][-1]
            assert poke["radius"] > 0 and poke["position"][0] > front["at"][0]
        else:
            ends = [page.evaluate("p => pliantView.stage.project(p)", found[-1][end]) for end in ("first", "last")]
            assert ends[1]["x"] - ends[0]["x"] == pytest.approx(40, abs=1)
    page.keyboard.press("p")
    page.mouse.click(front["x"], front["y"])
    server.commands("pin")
    page.wait_for_function("pliantView.world.lanes[0].marks.pins.dots.count === 1")
    page.keyboard.down("Shift")
    page.mouse.click(front["x"], front["y"])
    page.keyboard.up("Shift")
    assert [one["body"] for one in server.commands("unpin") if one["do"] == "unpin"] == [None]
    page.wait_for_function("pliantView.world.lanes[0].marks.pins.dots.count === 0")


def test_pins_are_marked_in_every_window(browser, page, server):
    paused(page)
    vertex = front_vertex(page)["vertex"]
    page.evaluate("v => pliantView.stream.ask('pin', {body: 'ball', vertex: v})", vertex)
    marked = "pliantView.world.lanes[0].marks.pins.dots.count === 1"
    page.wait_for_function(marked)
    second = opened(browser, server, viewport={"width": 500, "height": 300})
    try:
        second.wait_for_function(marked)
        held, mark = second.evaluate(
            """v => [pliantView.world.lanes[0].bodies[1].vertex(v),
              [...pliantView.world.lanes[0].marks.pins.dots.instanceMatrix.array.slice(12, 15)]]""",
            vertex,
        )
        assert mark == pytest.approx(held, abs=1e-4)
    finally:
        second.context.close()
    page.evaluate("pliantView.stream.ask('unpin', {body: null})")
    page.wait_for_function("pliantView.world.lanes[0].marks.pins.dots.count === 0")


def test_a_click_selects_and_the_page_hears_of_it(page):
    paused(page)
    front = front_vertex(page)
    page.mouse.click(front["x"], front["y"])
    page.wait_for_function("document.getElementById('seen').textContent.includes('ball')")
    assert page.evaluate("pliantView.world.lanes[0].bodies[1].selected")


def test_errors_are_shown(page):
    page.keyboard.press("z")
    page.wait_for_selector(".pv-toast.pv-error")
    assert "nothing to undo" in page.locator(".pv-toast.pv-error").inner_text()


def test_keys_are_left_alone_while_typing(page, server):
    page.evaluate("document.body.append(Object.assign(document.createElement('input'), {id: 'field'}))")
    page.locator("#field").focus()
    page.keyboard.type("rw")
    page.evaluate("document.getElementById('field').remove()")
    assert not page.evaluate("pliantView.displays.shown.wireframe")
    assert not [command for command in server.get("/log") if command["do"] == "reset"]


def test_time_line_seeks_and_comes_back(page, server):
    page.locator(".pv-line").evaluate(
        "line => { line.value = 1; line.dispatchEvent(new Event('input')); line.dispatchEvent(new Event('change')); }"
    )
    assert server.commands("seek")[-1]["frame"] == 1
    page.get_by_text("continue from here").wait_for()
    assert page.evaluate("pliantView.last.live === false && pliantView.last.frame === 1")
    page.keyboard.press("l")
    page.wait_for_function("pliantView.last.live")
    page.keyboard.press("Space")
    server.commands("play")


def test_dropped_files_are_sent(page, server):
    page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(["v 0 0 0"], "a b.obj"));
          pliantView.root.dispatchEvent(new DragEvent("dragenter", {dataTransfer: data, bubbles: true}));
          window.overlay = !pliantView.drop.node.hidden;
          pliantView.root.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }"""
    )
    page.wait_for_function("document.getElementById('seen').textContent.includes('a b.obj')")
    assert page.evaluate("window.overlay && pliantView.drop.node.hidden")
    assert server.get("/do?what=nothing")["uploads"] == [["a b.obj", 7]]


def test_lanes_stand_side_by_side(page, server):
    server.get("/do?what=lanes2")
    page.wait_for_function("pliantView.world.lanes.length === 2")
    frames(page)
    captions = page.locator(".pv-caption").all_inner_texts()
    assert len(captions) == 2 and "reference" in captions[0] and re.search(r"error 4 mm", captions[1])
    paused(page)
    right = front_vertex(page, lane=1)
    assert right["x"] > 450
    hit = "({x, y}) => pliantView.tools.hit(pliantView.tools.pointer({clientX: x, clientY: y}))?.body.lane"
    assert page.evaluate(hit, right) == 1
    server.get("/do?what=lanes1")
    page.wait_for_function("pliantView.world.lanes.length === 1")
    assert page.locator(".pv-caption").count() == 0


def test_it_connects_again_and_takes_the_new_scene(page, server):
    before = page.evaluate("({scene: pliantView.world.number, eye: pliantView.stage.camera.position.toArray()})")
    server.get("/do?what=down")
    page.wait_for_selector(".pv-badge", state="visible")
    page.wait_for_function("n => pliantView.world.number > n", arg=before["scene"])
    page.wait_for_selector(".pv-badge", state="hidden")
    frames(page)
    assert page.evaluate("pliantView.stage.camera.position.toArray()") == pytest.approx(before["eye"], abs=0.02)
    page.troubles[:] = [text for text in page.troubles if "WebSocket" not in text]
    assert page.troubles == []


def test_tools_that_nothing_can_do_are_absent(page, server):
    server.get("/do?what=plain")
    page.wait_for_function("pliantView.world.header.tools.length === 1")
    page.wait_for_function("pliantView.toolbar.tools.get('cut').hidden")
    page.keyboard.press("x")
    assert page.evaluate("pliantView.tool") == "drag"


# Two fingers come down 40 pixels apart, the first is moved by `slip` before; the second goes `apart` pixels further.
TWO_FINGERS = """([x, y, apart, slip]) => {
  const finger = (kind, id, at) => pliantView.canvas.dispatchEvent(new PointerEvent(kind, {
    pointerId: id, pointerType: "touch", isPrimary: id === 11, bubbles: true, cancelable: true,
    clientX: at, clientY: y, pageX: at, pageY: y, button: kind === "pointermove" ? -1 : 0, buttons: 1}));
  const controls = pliantView.stage.controls, away = () => pliantView.stage.camera.position.distanceTo(controls.target);
  const before = away();
  const capture = ["setPointerCapture", "releasePointerCapture"]; // no browser captures fingers that are not there
  for (const name of capture) pliantView.canvas[name] = () => {};
  finger("pointerdown", 11, x - slip);
  const held = pliantView.dragging !== null;
  if (slip) finger("pointermove", 11, x);
  finger("pointerdown", 12, x + 40);
  const free = pliantView.dragging === null && pliantView.tools.gesture === null;
  for (let step = 1; step <= 5; step++) finger("pointermove", 12, x + 40 + step * apart / 5);
  controls.update();
  finger("pointerup", 12, x + 40 + apart);
  finger("pointerup", 11, x);
  for (const name of capture) delete pliantView.canvas[name];
  return {held, free, ratio: away() / before, speed: controls.zoomSpeed};
}"""


def test_two_fingers_let_a_body_go_and_pinch_the_camera(page, server):
    paused(page)
    # an earlier drag that ended elsewhere: the fingers that come later begin where they are
    front = front_vertex(page)
    page.mouse.move(front["x"], front["y"])
    page.mouse.down()
    page.mouse.move(front["x"] + 50, front["y"] - 30, steps=3)
    page.mouse.up()
    server.commands("release")
    for apart, slip in ((80, 0), (80, 6), (-25, 0), (-25, 6)):
        page.evaluate("pliantView.frameScene()")
        front = front_vertex(page)
        pinch = page.evaluate(TWO_FINGERS, [front["x"], front["y"], apart, slip])
        assert pinch["held"] and pinch["free"]
        # the camera comes nearer as the fingers part, and goes away as they close
        assert pinch["ratio"] == pytest.approx((40 / (40 + apart)) ** pinch["speed"], rel=1e-3)
        assert {"grab", "release"} <= {command["do"] for command in server.commands("release")}
    page.evaluate("pliantView.look.unframed = true")
    frames(page)
    assert page.evaluate("pliantView.tools.gesture === null && pliantView.stage.controls.enabled")


def test_it_fits_a_phone(browser, server):
    page = opened(browser, server, viewport={"width": 390, "height": 760}, has_touch=True, is_mobile=True)
    try:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.locator(".pv-hud-body").is_hidden()
        sizes = [page.locator(f".pv-transport .pv-button >> nth={k}").bounding_box() for k in range(3)]
        assert all(box["width"] >= 40 and box["height"] >= 40 and box["x"] >= 0 for box in sizes)
        front = front_vertex(page)
        server.get("/log")
        # by events of its own: Playwright's tap waits without end for a page that draws slowly
        page.evaluate(
            """({x, y}) => ["pointerdown", "pointerup"].forEach((kind) => pliantView.canvas.dispatchEvent(
              new PointerEvent(kind, {pointerId: 7, pointerType: "touch", bubbles: true, clientX: x, clientY: y})))""",
            front,
        )
        names = [command["do"] for command in server.commands("release")]
        assert "grab" in names
        page.evaluate("pliantView.dispose()")
        assert page.locator(".pliant-view").count() == 0
        assert page.troubles == []
    finally:
        page.context.close()
