# SPDX-License-Identifier: Apache-2.0
"""A small WebDriver client (W3C WebDriver) for Debian's chromium-driver, without dependencies."""

import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that the standard gives to elements
KEYS = {"Up": "\ue013", "Down": "\ue015", "Left": "\ue012", "Right": "\ue014", "Enter": "\ue007",
        "Escape": "\ue00c", "Home": "\ue011", "Control": "\ue009", "Shift": "\ue008", "F3": "\ue033"}


class WebDriverError(Exception):
    pass


def find_browser():
    """Paths of chromium and chromedriver, or None."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Browser:
    def __init__(self, width=1200, height=800, dark=False, scripts=True):
        browser, driver = find_browser()
        self.profile = tempfile.mkdtemp(prefix="accel-prof-browser-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.log = open(os.path.join(self.profile, "driver.log"), "wb")
        self.process = subprocess.Popen([driver, f"--port={port}"], stdout=self.log, stderr=self.log)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--hide-scrollbars", f"--window-size={width},{height}",
                     f"--user-data-dir={self.profile}/chromium"]
        preferences = {} if scripts else {"profile.managed_default_content_settings.javascript": 2}
        capabilities = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
                        "goog:chromeOptions": {"binary": browser, "args": arguments,
                                               "prefs": preferences}}
        try:
            self.wait_for_driver()
            value = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
            self.session = f"/session/{value['sessionId']}"
            self.emulate(width, height, dark)
        except BaseException:
            self.close()
            raise

    def wait_for_driver(self):
        for _ in range(200):
            try:
                if self.call("GET", "/status")["ready"]:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise WebDriverError("chromedriver does not answer")

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise WebDriverError(f"{value['error']}: {value['message']}") from None

    def close(self):
        try:
            if hasattr(self, "session"):
                self.call("DELETE", self.session)
        except (WebDriverError, OSError):
            pass
        self.process.terminate()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def devtools(self, command, **parameters):
        return self.call("POST", self.session + "/goog/cdp/execute",
                         {"cmd": command, "params": parameters})

    def emulate(self, width, height, dark=False, scale=1):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=scale, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        if "://" not in url:
            url = "file://" + os.path.abspath(url)
        self.call("POST", self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        """The value of a function body."""
        return self.call("POST", self.session + "/execute/sync",
                         {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """The value that a promise expression resolves to."""
        body = ("const done = arguments[arguments.length - 1]; (async () => {" + script +
                "})().then(done, (e) => done('error: ' + e.stack));")
        value = self.call("POST", self.session + "/execute/async",
                          {"script": body, "args": list(arguments)})
        if isinstance(value, str) and value.startswith("error: "):
            raise WebDriverError(value)
        return value

    def keys(self, *names):
        """Press keys one after the other; "Control+f" holds the first."""
        actions = []
        for name in names:
            parts = [KEYS.get(part, part) for part in (name.split("+") if len(name) > 1 else [name])]
            actions += [{"type": "keyDown", "value": key} for key in parts]
            actions += [{"type": "keyUp", "value": key} for key in reversed(parts)]
        self.call("POST", self.session + "/actions",
                  {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def type(self, text):
        self.keys(*text)

    def mouse(self, x, y, click=False):
        actions = [{"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.call("POST", self.session + "/actions",
                  {"actions": [{"type": "pointer", "id": "mouse", "actions": actions,
                                "parameters": {"pointerType": "mouse"}}]})

    def click(self, selector):
        found = self.call("POST", self.session + "/element",
                          {"using": "css selector", "value": selector})
        self.call("POST", f"{self.session}/element/{found[ELEMENT]}/click", {})

    def console(self):
        """Messages since the last call; errors of scripts are among them."""
        return self.call("POST", self.session + "/se/log", {"type": "browser"})

    def screenshot(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("GET", self.session + "/screenshot")))
