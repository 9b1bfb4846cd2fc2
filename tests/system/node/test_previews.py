"""Previews in a real browser: a page, its websocket and its upload, all from a guest.

Chromium runs headless with an empty profile and is told to reach nothing by itself.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.support.wait import WebDriverWait

from tests.conftest import BASE_MEMORY_MIB
from tests.support.browser import open_browser
from tests.support.engine import Engine, engine
from tests.support.node import ROOT, Node, free_port
from tests.support.wait import until

pytestmark = pytest.mark.vm

SITE = (Path(__file__).parents[2] / "support" / "upstream.py").read_bytes()
PAGE = b"""<!doctype html><title>from a guest</title><p id="socket"></p><p id="upload"></p>
<script>
const here = new URL(".", location.href);
const socket = new WebSocket(new URL("ws", here).href.replace("http", "ws"));
socket.onopen = () => socket.send("over the websocket");
socket.onmessage = (event) => { document.getElementById("socket").textContent = event.data; };
socket.onerror = () => { document.getElementById("socket").textContent = "the websocket broke"; };
const body = new Uint8Array(3 << 20).map((_, at) => at % 251);
fetch("upload", {method: "POST", body}).then((reply) => reply.text()).then(
  (words) => { document.getElementById("upload").textContent = words; });
</script>"""
SERVE = b"""
def page(self):
    self._answer(PAGE, Content_Type="text/html")

_Handler._page = page
server = Upstream.__new__(Upstream)
server.seen, server.left = [], threading.Event()
ThreadingHTTPServer.__init__(server, ("127.0.0.1", 8080), _Handler)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def node(base_template: str) -> Iterator[Engine]:
    """An engine with a preview listener."""
    tiny = {"cpus": 1, "memory_mib": BASE_MEMORY_MIB}
    with engine(
        listen=f"127.0.0.1:{free_port()}",
        api_token=ROOT,
        preview_listen=f"127.0.0.1:{free_port()}",
        sizes={"tiny": tiny},
        pools=[{"template": base_template, "size": "tiny", "warm": 1}],
    ) as made:
        yield made


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser that has been nowhere."""
    with open_browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture
def sandbox(node: Engine) -> Iterator[Any]:
    """A claim."""
    api = Node(node.config["listen"])
    made = api.claim("base", size="tiny")
    yield made
    api.request("POST", f"/v1/sandboxes/{made['id']}/release")


def serve(api: Node, sandbox: Any, program: bytes) -> None:
    """Run a program in the sandbox until port 8080 is listened on."""
    relay = api.upgrade(sandbox)
    relay.send(op="fs_write", path="/tmp/site.py")
    relay.send(op="data", data=base64.b64encode(program).decode())
    relay.send(op="data_end")
    assert relay.frame() == {"type": "done"}
    relay.send(op="exec", argv=["python3", "/tmp/site.py"], detach=True)
    assert relay.frame()["type"] == "started"
    relay.close()
    body = {"argv": ["grep", "-c", ":1F90 ", "/proc/net/tcp"]}
    path = f"/v1/sandboxes/{sandbox['id']}/exec"
    until(lambda: api.request("POST", path, body, token=sandbox["token"]).json["exit_code"] == 0)


def preview(api: Node, sandbox: Any, port: int) -> str:
    """The address of a port."""
    body = {"token": sandbox["token"], "port": port, "ttl_seconds": 250}
    answer = api.request("POST", f"/v1/sandboxes/{sandbox['id']}/preview", body)
    assert answer.status == 200, answer
    return str(answer.json["url"])


def words(browser: Chrome, name: str) -> str:
    """What the page says there, once it says anything."""
    found = WebDriverWait(browser, 120).until(lambda _: browser.find_element("id", name).text)
    return str(found)


def test_a_page_with_a_websocket_and_an_upload(node: Engine, browser: Chrome, sandbox: Any) -> None:
    api = Node(node.config["listen"])
    serve(api, sandbox, SITE + b"\nPAGE = " + repr(PAGE).encode() + SERVE)
    url = preview(api, sandbox, 8080)
    browser.get(url + "page")
    assert browser.title == "from a guest"
    assert words(browser, "socket") == "over the websocket"
    body = bytes(at % 251 for at in range(3 << 20))
    assert words(browser, "upload") == f"{len(body)} {hashlib.sha256(body).hexdigest()}"
    api.release(sandbox)
    browser.get(url + "page")
    assert "has ended" in words(browser, "cause")


def test_a_closed_port_has_a_page_that_names_the_cause(
    node: Engine, browser: Chrome, sandbox: Any
) -> None:
    browser.get(preview(Node(node.config["listen"]), sandbox, 8099))
    cause = words(browser, "cause")
    assert f"Port 8099 of sandbox {sandbox['id']} does not answer" in cause
    assert "nothing listens on port 8099" in cause
