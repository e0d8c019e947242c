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


class Page:
    """A page of it. `problems`: what its console was told of errors, and what it asked for but itself."""

    def __init__(self, url, dark=False):
        self.folder = tempfile.TemporaryDirectory(prefix="orrery-chromium-", ignore_cleanup_errors=True)
        read_by_it, self.to_it = os.pipe()
        self.from_it, written_by_it = os.pipe()

        def give_pipes():
            one, other = os.dup(read_by_it), os.dup(written_by_it)
            os.dup2(one, 3)
            os.dup2(other, 4)

        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}"], close_fds=False,
            preexec_fn=give_pipes, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_by_it)
        os.close(written_by_it)
        self.rest, self.number, self.session, self.problems, self.loaded = b"", 0, None, [], False
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.url = url
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.ask(domain + ".enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=1230, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        begin = time.monotonic()
        self.ask("Page.navigate", url=url)
        while not self.loaded:
            self.take()
        self.seconds = time.monotonic() - begin  # until it was drawn: scripts run before that

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

    def picture(self, path):
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


def program():
    """Where Chromium is; none where it is not installed."""
    return shutil.which("chromium")
