"""A headless Chromium, spoken to in its own protocol over two pipes: no driver and no package is needed."""

import base64
import json
import os
import select
import subprocess
import tempfile
import time

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--mute-audio", "--hide-scrollbars",
    "--disable-dev-shm-usage",
]  # fmt: skip
PATIENCE = 60


class Failed(Exception):
    """What was expected of a page did not happen."""


class Chromium:
    """A browser with one page. `requests` and `errors` are what the page has asked for and complained of since it was opened."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.out = os.pipe()
        self.inlet, from_browser = os.pipe()

        def connect():
            # the browser reads from 3 and writes to 4; copies above them first, so that neither is lost on the way
            spare = os.dup(to_browser), os.dup(from_browser)
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        command = [program, *FLAGS, f"--user-data-dir={self.folder.name}", "--remote-debugging-pipe", "about:blank"]
        # closed in the child are only those above 4: connect() makes 3 and 4
        self.process = subprocess.Popen(
            command, preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session = b"", 0, None
        self.requests, self.errors = [], []
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.inlet)
        self.folder.cleanup()

    def call(self, method, **params):
        """Sends a command and waits for its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            answer = self._message(end - time.monotonic())
            if answer and answer.get("id") == self.number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]
        raise Failed(f"{method}: no answer in {PATIENCE} s")

    def _message(self, seconds):
        while b"\0" not in self.buffer:
            if not select.select([self.inlet], [], [], max(seconds, 0))[0]:
                return None
            part = os.read(self.inlet, 1 << 16)
            if not part:
                raise Failed("the browser has ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, event, params):
        if event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            thrown = details.get("exception", {})
            place = f"line {details.get('lineNumber')}, column {details.get('columnNumber')}"
            self.errors.append(thrown.get("description") or f"{details['text']} {thrown.get('value')} ({place})")
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(one.get("value", one.get("description"))) for one in params["args"]))
        elif event == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])

    def open(self, address, width=1200, height=900, scheme="light"):
        """Opens a page as a screen of this size and colour scheme shows it."""
        self.requests, self.errors = [], []
        self.screen(width, height)
        self.scheme(scheme)
        self.call("Page.navigate", url=address)

    def screen(self, width, height):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def scheme(self, scheme):
        # nothing glides: what is looked at stays where it was found
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        self.call("Emulation.setEmulatedMedia", features=[dict(name=name, value=value) for name, value in features.items()])

    def evaluate(self, expression):
        """The value of a JavaScript expression; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failed(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait_for(self, expression, what, seconds=20):
        """Waits until an expression is true; returns its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.evaluate(expression)
            if value:
                return value
            time.sleep(0.05)
        raise Failed(f"{what}: not within {seconds} s; errors: {self.errors}")

    def mouse(self, x, y, click=False):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        if click:
            for kind in ["mousePressed", "mouseReleased"]:
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, key):
        """Presses a key that has no letter, such as ArrowRight."""
        codes = {"End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        for kind in ["rawKeyDown", "keyUp"]:
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key])

    def screenshot(self, path, full=False):
        options = {"captureBeyondViewport": True} if full else {}
        if full:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = dict(x=0, y=0, width=size["width"], height=size["height"], scale=1)
        data = self.call("Page.captureScreenshot", format="png", **options)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
