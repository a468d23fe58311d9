"""Data in a store: a local server that speaks S3, behind a gate that looks at every request and can be slow or break off."""

import http.client
import http.server
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

boto3 = pytest.importorskip("boto3")
moto_server = pytest.importorskip("moto.server")

KEY, SECRET, REGION = "key-of-the-test", "secret-of-the-test", "eu-central-1"
FORBIDDEN = b"<?xml version='1.0'?><Error><Code>InvalidAccessKeyId</Code><Message>no such key</Message></Error>"


class Gate(http.server.ThreadingHTTPServer):
    """Stands before the store. It knows one key, notes what is asked, and can be told to misbehave."""

    def __init__(self, store):
        super().__init__(("127.0.0.1", 0), Passing)
        self.store = store
        self.is_public = False
        self.seconds_per_part = 0.0
        # objects whose first answer ends in the middle
        self.broken_once = set()
        self.ranges = []
        self.lists = 0

    @property
    def address(self):
        return "http://{}:{}".format(*self.server_address)


class Passing(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        gate = self.server
        if not gate.is_public and f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
            self.answer(403, [("Content-Type", "application/xml")], FORBIDDEN)
            return
        gate.lists += "list-type=2" in self.path
        if "Range" in self.headers:
            gate.ranges.append(self.headers["Range"])
        store = http.client.HTTPConnection(*gate.store, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        store.request("GET", self.path, headers=headers)
        found = store.getresponse()
        body = found.read()
        kept = [(name, value) for name, value in found.getheaders() if name.lower() not in ("content-length", "connection", "date", "server")]
        is_cut = self.path.split("/")[-1] in gate.broken_once and "Range" not in self.headers
        self.answer(found.status, kept, body, len(body) // 2 if is_cut else len(body))

    def answer(self, status, headers, body, n_sent=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        sent = body[:n_sent]
        step = max(1, len(sent) // 4) if self.server.seconds_per_part else max(1, len(sent))
        for start in range(0, len(sent), step):
            time.sleep(self.server.seconds_per_part)
            self.wfile.write(sent[start : start + step])

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def store():
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()
    server.stop()


@pytest.fixture
def gate(store):
    gate = Gate(store)
    thread = threading.Thread(target=gate.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield gate
    gate.shutdown()
    thread.join()
    gate.server_close()


def csv_lines(rows):
    return [",".join(map(repr, map(float, row))) for row in rows]


@pytest.fixture
def bucket(store, heaps, request):
    """Two files in a folder of a bucket of its own, beside what is no data; and the rows."""
    name = "bucket-" + "".join(letter if letter.isalnum() else "-" for letter in request.node.name)[:40].strip("-").replace("_", "-")
    client = boto3.client(
        "s3",
        endpoint_url="http://{}:{}".format(*store),
        region_name=REGION,
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
    )
    client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})
    lines = csv_lines(heaps[0])
    for part, rows in enumerate([lines[:100], lines[100:]], 1):
        client.put_object(Bucket=name, Key=f"shards/part-{part}.csv", Body="\n".join(["x,y", *rows, ""]).encode(), ACL="public-read")
    client.put_object(Bucket=name, Key="shards/README", Body=b"no data")
    client.put_object(Bucket=name, Key="shards/deeper/part-3.csv", Body=b"x,y\n1,2\n")
    return name


@pytest.fixture
def fit(gate, tmp_path):
    """Runs the command with credentials in the environment, and nothing else that could name some."""

    def run(*arguments, **variables):
        own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_") and "proxy" not in name.lower()}
        said = {"AWS_ENDPOINT": gate.address, "AWS_ALLOW_HTTP": "true", "AWS_REGION": REGION}
        said |= {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET} | variables
        words = [sys.executable, "-m", "dirigent", *arguments, "--cache-dir", tmp_path / "cache"]
        return subprocess.run(list(map(str, words)), env=own | said, capture_output=True, text=True, timeout=120)

    return run


def labels(fit, data, tmp_path, name="run", **variables):
    out = tmp_path / name
    ended = fit("fit", *data, "--seed", "0", "--no-report", "--out", out, **variables)
    assert ended.returncode == 0, ended.stderr
    return np.load(out / "labels.npy")


@pytest.fixture
def expected(fit, heaps, tmp_path):
    (tmp_path / "x.csv").write_text("\n".join(["x,y", *csv_lines(heaps[0]), ""]))
    return labels(fit, [tmp_path / "x.csv"], tmp_path, "local")


def test_one_object_a_folder_and_a_pattern(fit, gate, bucket, expected, tmp_path):
    parts = [f"s3://{bucket}/shards/part-{part}.csv" for part in (1, 2)]
    np.testing.assert_array_equal(labels(fit, parts, tmp_path, "named"), expected)
    assert gate.lists == 0
    np.testing.assert_array_equal(labels(fit, [f"s3://{bucket}/shards/"], tmp_path, "folder"), expected)
    np.testing.assert_array_equal(labels(fit, [f"s3://{bucket}/shards/part-*.csv"], tmp_path, "pattern"), expected)
    assert gate.lists == 2
    ended = fit("predict", tmp_path / "named", parts[1], "--out", tmp_path / "more.csv")
    assert ended.returncode == 0, ended.stderr


def test_an_estimator_reads_it_too(gate, bucket, expected, tmp_path, monkeypatch):
    from dirigent import DirichletProcessMixture

    said = {"AWS_ENDPOINT": gate.address, "AWS_ALLOW_HTTP": "true", "AWS_REGION": REGION, "XDG_CACHE_HOME": str(tmp_path)}
    for name, value in (said | {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}).items():
        monkeypatch.setenv(name, value)
    model = DirichletProcessMixture(random_state=0).fit(f"s3://{bucket}/shards/")
    np.testing.assert_array_equal(model.labels_, expected)


def test_credentials_are_those_of_the_environment(fit, gate, bucket, expected, tmp_path):
    data = f"s3://{bucket}/shards/part-1.csv"
    ended = fit("fit", data, "--out", tmp_path / "run", AWS_ACCESS_KEY_ID="another-key")
    assert ended.returncode == 2
    assert data in ended.stderr and "AWS_ACCESS_KEY_ID" in ended.stderr and SECRET not in ended.stderr
    assert not (tmp_path / "run").exists()
    gate.is_public = True
    public = {"AWS_SKIP_SIGNATURE": "true", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    np.testing.assert_array_equal(labels(fit, [f"s3://{bucket}/shards/"], tmp_path, "public", **public), expected)


def test_what_is_missing_is_named(fit, bucket, tmp_path):
    for data in [f"s3://{bucket}/shards/none.csv", f"s3://{bucket}/none/", "s3://no-such-bucket/x.csv"]:
        ended = fit("fit", data, "--out", tmp_path / "run")
        assert ended.returncode == 2, ended.stderr
        assert data in ended.stderr and "check the address" in ended.stderr
    assert not (tmp_path / "run").exists()


def test_a_broken_transfer_continues_with_the_range_that_is_missing(fit, gate, bucket, expected, tmp_path):
    gate.broken_once = {"part-1.csv"}
    np.testing.assert_array_equal(labels(fit, [f"s3://{bucket}/shards/"], tmp_path), expected)
    # from the byte where the first answer ended, to the last one
    assert len(gate.ranges) == 1
    first, last = gate.ranges[0].removeprefix("bytes=").split("-")
    assert 0 < int(first) < int(last)


def test_a_slow_server_is_waited_for(fit, gate, bucket, expected, tmp_path):
    gate.seconds_per_part = 0.25
    np.testing.assert_array_equal(labels(fit, [f"s3://{bucket}/shards/"], tmp_path), expected)
