"""The Connect door as pages in a browser use it: one that may, and one that may not."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from sandbox_engine.api.connect.server import ConnectServer
from sandbox_engine.api.rpc.server import SERVICES, RpcServer
from sandbox_engine.services.sessions import Sessions
from selenium.webdriver.support.wait import WebDriverWait

from tests.engine.api.fakes import FakeStates, World
from tests.support.browser import open_browser

TOKEN = "a token"
PAGE = """<!doctype html><title>asking</title><script>
fetch("http://127.0.0.1:%d/sandbox.v1.GuestService/Stat", {
  method: "POST",
  headers: {"Content-Type": "application/json", "Authorization": "Bearer a token"},
  body: JSON.stringify({sandboxId: "sb_1", path: "/workspace/a"}),
}).then((reply) => reply.json()).then(
  (told) => { document.title = "size " + told.size; }, () => { document.title = "kept out"; });
</script>"""


class Pages:
    """A server of one page, and the door that it calls."""

    port = 0
    door = 0

    async def page(self, _: web.Request) -> web.Response:
        return web.Response(text=PAGE % self.door, content_type="text/html")


@pytest.fixture
async def pages() -> AsyncIterator[Pages]:
    made, app = Pages(), web.Application()
    app.router.add_get("/", made.page)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.port = runner.addresses[0][1]
    yield made
    await runner.cleanup()


@pytest.fixture
async def door(world: World, pages: Pages, tmp_path: Path) -> AsyncIterator[ConnectServer]:
    rpc = RpcServer(
        sandboxes=world.sandboxes,
        execs=world.execs,
        files=world.files,
        sessions=Sessions(world.sandboxes),
        templates=world.templates,
        states=FakeStates(),
        node=world.node,
        path=tmp_path / "unused.sock",
    )
    made = ConnectServer(
        services=SERVICES,
        servicers=rpc.servicers,
        tokens={"me": hashlib.sha256(TOKEN.encode()).hexdigest()},
        origins=[f"http://127.0.0.1:{pages.port}"],
    )
    await made.start("127.0.0.1:0")
    pages.door = made.port
    yield made
    await made.stop()


async def test_a_page_of_an_allowed_origin_calls_and_another_does_not(
    world: World, pages: Pages, door: ConnectServer, tmp_path: Path
) -> None:
    world.files.files["/workspace/a"] = b"hello"

    def titles() -> list[str]:
        found = []
        with open_browser(tmp_path / "profile") as browser:
            for host in ("127.0.0.1", "localhost"):  # another name is another origin
                browser.get(f"http://{host}:{pages.port}/")
                WebDriverWait(browser, 60).until(lambda seen: seen.title not in ("", "asking"))
                found.append(browser.title)
        return found

    assert await asyncio.to_thread(titles) == ["size 5", "kept out"]
