# SPDX-License-Identifier: MIT
"""A headless Chromium that is told what to do over its debugging pipe: JSON messages, each ended by a zero byte."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

SECONDS = 60


class Browser:
    """One window of it, for one page after the other. `problems`: what its console was told of errors since a page was
    opened, and what that asked for but itself. `downloads`: a folder that takes what pages save."""

    def __init__(self, downloads=None):
        self.folder = tempfile.TemporaryDirectory(prefix="orrery-chromium-", ignore_cleanup_errors=True)
        read_by_it, self.to_it = os.pipe()
        self.from_it, written_by_it = os.pipe()

        def give_pipes():
            one, other = os.dup(read_by_it), os.dup(written_by_it)
            os.dup2(one, 3)
            os.dup2(other, 4)

        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}"], close_fds=False,
            preexec_fn=give_pipes, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_by_it)
        os.close(written_by_it)
        self.rest, self.number, self.session, self.problems, self.loaded = b"", 0, None, [], False
        self.url = None
        if downloads:
            self.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.ask(domain + ".enable")

    def open(self, url, dark=False, width=1230, touch=False):
        """Shows a page of that width of the window, until it was drawn: scripts run before that."""
        self.url, self.problems, self.loaded = url, [], False
        self.resize(width)
        self.ask("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.theme(dark)
        begin = time.monotonic()
        self.ask("Page.navigate", url=url)
        while not self.loaded:
            self.take()
        self.seconds = time.monotonic() - begin

    def resize(self, width, height=900):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, dark):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to_it)
        self.process.kill()
        self.process.wait()
        os.close(self.from_it)
        self.folder.cleanup()

    def take(self):
        """The next message; notes events."""
        while b"\0" not in self.rest:
            if not select.select([self.from_it], [], [], SECONDS)[0]:
                raise TimeoutError("chromium does not answer")
            got = os.read(self.from_it, 1 << 20)
            if not got:
                raise ConnectionError("chromium ended")
            self.rest += got
        text, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(text)
        method, told = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(told["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.problems.append(str(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.problems.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent" and told["request"]["url"] != self.url:
            self.problems.append("asked for " + told["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True
        return message

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_it, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.take()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, script):
        """What a script gives, as JSON has it."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key):
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def drag(self, begin, end):
        """A finger from one point to another."""
        self.ask("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": begin[0], "y": begin[1]}])
        for part in (0.25, 0.5, 0.75, 1):
            at = [a + part * (b - a) for a, b in zip(begin, end)]
            self.ask("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": at[0], "y": at[1]}])
        self.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def picture(self):
        """The whole page, also what the window does not show, as a PNG file has it."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        return base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"])


def program():
    """Where Chromium is; none where it is not installed."""
    return shutil.which("chromium")
