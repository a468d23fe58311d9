"""A host that does nothing but what the tests of transports need. A request is a word of Python's literal syntax: what to do, and with what."""

import ast
import os
import threading
import time


class ToyHost:
    def __init__(self, place):
        self.place = place
        self.interrupted = threading.Event()

    def handle(self, request, shared):
        what, value = ast.literal_eval(request.decode())
        if what == "echo":
            return repr((value, None if shared is None else len(shared))).encode()
        if what == "large":
            return bytes(value)
        if what == "sleep":
            begin = time.monotonic()
            broken = self.interrupted.wait(value)
            return repr(("interrupted" if broken else "slept", time.monotonic() - begin)).encode()
        if what == "pid":
            return str(os.getpid()).encode()
        if what == "place":
            return self.place.encode()
        if what == "die":
            os._exit(9)
        raise AssertionError(f"no such request: {what}")

    def interrupt(self):
        self.interrupted.set()


def request(what, value=None):
    return repr((what, value)).encode()
