"""Programs that nobody here wrote: where each comes from, how it is started and given work.

To add one: a class with the functions of Daemon, and a line in SOURCES. A daemon listens on
loopback addresses or on a socket in its folder, and lives in a network without a way out (see
servers.py).
"""

import concurrent.futures
import dataclasses
import http.client
import itertools
import json
import os
import pathlib
import random
import socket
import subprocess
import threading
import time

# Of another suite: trixie's runc wants a newer C library, and dockerd only looks at its version.
RUNC = ("runc/bookworm", "libseccomp2/bookworm", "libdevmapper1.02.1/bookworm")
LIBRARIES = "usr/lib/x86_64-linux-gnu"

PORTS = itertools.count(20000)
REQUEST_SECONDS = 60  # a process may be stopped for a dump while it is asked
WORKERS, WORK_SECONDS = 3, 1.5
SCRAPES, SCRAPE_SECONDS = 10, 0.25
LOOKS = 5  # a process that rests may start a collection right after it was asked
LAST_LOOK = f"quiet{LOOKS - 1}"


class Refused(Exception):
    """The daemon did not answer, or did not like the question."""


class LocalConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=REQUEST_SECONDS)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Client:
    """Asks one daemon, over one connection. An address is a port or the path of a socket."""

    def __init__(self, address, headers=()):
        self.headers = dict(headers)
        self.connection = LocalConnection(address) if isinstance(address, pathlib.Path) else \
            http.client.HTTPConnection("127.0.0.1", address, timeout=REQUEST_SECONDS)

    def ask(self, path, body=None, method=None):
        reused = self.connection.sock is not None
        try:
            self.connection.request(method or ("POST" if body else "GET"), path, body,
                                    self.headers)
            reply = self.connection.getresponse()
            text = reply.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            if reused and isinstance(error, ConnectionError):  # the other end was tired of it
                return self.ask(path, body, method)
            raise Refused(f"{path}: {error}") from None
        if reply.status >= 400:
            raise Refused(f"{path}: status {reply.status}: {text[:100]}")
        return text


class Daemon:
    """One process to be. command: the words of its command line. address, headers: where and how
    it is asked. ready: what it answers as soon as it is up. metrics: where it tells its
    go_memstats_*, if anywhere; profile: where its goroutines. work: one piece of work, the i-th."""
    metrics = "/metrics"
    profile = None
    headers = ()
    moment_at_work = "busy"

    def __init__(self, root, folder, environment):
        self.root, self.folder, self.environment = root, folder, environment
        self.port = next(PORTS)
        self.address = self.port
        self.scrapes, self.profiles = [], []
        self.looked_at = self.released = False
        self.moved = False  # set when the last look had other figures than the scrapes before

    def client(self, address=None):
        return Client(address or self.address, self.headers)

    def prepare(self, client):
        """What comes before work, once."""

    def life(self, process):
        """Yields the names of moments that are worth a look."""
        process.await_output()
        yield "starting"
        client = self.client()
        process.await_true(lambda: answers(client, self.ready))
        self.prepare(client)
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            turns = itertools.count()
            workers = [pool.submit(self.toil, turns) for _ in range(WORKERS)]
            try:
                time.sleep(WORK_SECONDS)
                self.looked_at = True
                yield self.moment_at_work
            finally:
                self.released = True
        for worker in workers:
            worker.result()
        time.sleep(SCRAPE_SECONDS)
        scraped = self.client(self.port)
        for look in range(LOOKS):
            time.sleep(2 * look)  # it has stood still, and catches up
            self.profiles = self.profile_goroutines()
            time.sleep(SCRAPE_SECONDS)
            self.profiles += self.profile_goroutines()
            self.scrapes = []
            for _ in range(SCRAPES if self.metrics else 0):
                time.sleep(SCRAPE_SECONDS)
                self.scrapes.append(scraped.ask(self.metrics))
            yield f"quiet{look or ''}"
            if not self.moved:
                break

    def profile_goroutines(self):
        """What its goroutines do, over a connection that ends with the answer."""
        if not self.profile:
            return []
        client = self.client(self.profile_address())
        client.headers["Connection"] = "close"
        return [client.ask(self.profile)]

    def profile_address(self):
        return self.address

    def toil(self, turns):
        """Works until it is released. What was asked of a process that is stopped may fail."""
        client = self.client()
        while not self.released:
            try:
                self.work(client, next(turns))
            except (Refused, subprocess.SubprocessError):
                if not self.looked_at:
                    raise


def answers(client, path):
    try:
        client.ask(path)
    except Refused:
        return False
    return True


PROFILE = "/debug/pprof/goroutine?debug=1"


class Prometheus(Daemon):
    ready = "/-/ready"
    profile = PROFILE

    def command(self):
        (self.folder / "config").write_text(json.dumps({
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [{"job_name": "self", "static_configs": [
                {"targets": [f"127.0.0.1:{self.address}"]}]}]}))
        return [self.root / "usr/bin/prometheus", "--config.file=config",
                "--storage.tsdb.path=data", f"--web.listen-address=127.0.0.1:{self.address}"]

    def work(self, client, i):
        now = int(time.time())
        client.ask("/api/v1/query_range?query={job=%22self%22}"
                   f"&start={now - 60 - i % 60}&end={now}&step=1")
        client.ask("/api/v1/series?match[]={__name__=~%22.%2B%22}")


class Etcd(Daemon):
    ready = "/health"
    profile = PROFILE

    def command(self):
        own, peers = f"http://127.0.0.1:{self.address}", f"http://127.0.0.1:{next(PORTS)}"
        return [self.root / "usr/bin/etcd", "--enable-pprof", "--data-dir", "data",
                "--listen-client-urls", own,
                "--advertise-client-urls", own, "--listen-peer-urls", peers,
                "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}"]

    def prepare(self, client):
        """The name of the interface, which differs between releases."""
        for self.interface in ("v3", "v3beta"):
            try:
                client.ask(f"/{self.interface}/kv/range", json.dumps({"key": "AA=="}))
                return
            except Refused:
                pass
        raise Refused("neither /v3 nor /v3beta")

    def work(self, client, i):
        key = "a" * (i % 7 + 1) + "0000"[i % 5:] + f"{i:04d}"
        key += "A" * (-len(key) % 4)
        client.ask(f"/{self.interface}/kv/put", json.dumps({"key": key, "value": "VALUE123" * 200}))
        if i % 16 == 0:
            client.ask(f"/{self.interface}/kv/range", json.dumps(
                {"key": "YQ==", "range_end": "eg==", "limit": "500"}))
        if i % 7 == 0:
            client.ask(f"/{self.interface}/kv/deleterange", json.dumps({"key": key}))


class Syncthing(Daemon):
    """Discovery, relays and reports would find no way out; they are off all the same. It takes
    itself for the child of the process that otherwise would start it, and be the one looked at."""
    ready = "/rest/system/ping"
    key = "of-this-test"
    headers = (("X-API-Key", key),)
    files = 2000

    def command(self):
        program = self.root / "usr/bin/syncthing"
        self.environment |= {"HOME": str(self.folder), "STNODEFAULTFOLDER": "1",
                             "STMONITORED": "yes", "STNOUPGRADE": "1"}
        new = b"serve" in subprocess.run([program, "--help"], capture_output=True, timeout=30,
                                         env=self.environment, stdin=subprocess.DEVNULL).stdout
        generate = [program, "generate", "--home=home"] if new else [program, "-generate=home"]
        subprocess.run(generate, cwd=self.folder, env=self.environment, capture_output=True,
                       timeout=60, check=True, stdin=subprocess.DEVNULL)
        config = self.folder / "home/config.xml"
        text = config.read_text()
        for name in ("globalAnnounceEnabled", "localAnnounceEnabled", "relaysEnabled",
                     "natEnabled", "crashReportingEnabled"):
            text = text.replace(f"<{name}>true<", f"<{name}>false<")
        text = text.replace("<urAccepted>0<", "<urAccepted>-1<")
        config.write_text(text.replace("<listenAddress>default<",
                                       f"<listenAddress>tcp://127.0.0.1:{next(PORTS)}<"))
        flags = ["home=home", "no-browser", f"gui-address=127.0.0.1:{self.address}",
                 f"gui-apikey={self.key}"]
        return [program, "serve", *(f"--{flag}" for flag in flags)] if new else \
            [program, *(f"-{flag}" for flag in flags)]

    def prepare(self, client):
        shared = self.folder / "shared"
        shared.mkdir()
        for i in range(self.files):
            (shared / f"file{i}").write_bytes(random.Random(i).randbytes(2048))
        client.ask("/rest/config/folders", json.dumps({"id": "shared", "path": str(shared)}))

    def work(self, client, i):
        with open(self.folder / "shared" / f"file{i % self.files}", "a") as file:
            file.write("more")
        client.ask("/rest/db/status?folder=shared")
        client.ask("/rest/db/browse?folder=shared")
        if i % 32 == 0:
            client.ask("/rest/db/scan?folder=shared", method="POST")


class OldSyncthing(Syncthing):
    """Before 1.23."""
    metrics = None


class Containerd(Daemon):
    ready = metrics = "/v1/metrics"
    profile = PROFILE

    def command(self):
        self.socket = self.folder / "socket"
        (self.folder / "config").write_text(
            f'version = 2\nroot = "{self.folder}/root"\nstate = "{self.folder}/state"\n'
            f'[grpc]\n  address = "{self.socket}"\n[ttrpc]\n  address = "{self.socket}.ttrpc"\n'
            f'[debug]\n  address = "{self.folder}/debug"\n'
            f'[metrics]\n  address = "127.0.0.1:{self.address}"\n')
        return [self.root / "usr/bin/containerd", "-c", "config"]

    def profile_address(self):
        return self.folder / "debug"

    def work(self, client, i):
        """Its own client speaks gRPC to it; with a blob of some megabytes now and then."""
        client.ask(self.metrics)
        self.ctl("namespaces", "create", f"space{i}")
        if i % 4 == 0:
            self.ctl("content", "ingest", f"blob{i}", data=random.Random(i).randbytes(1 << 20))
        self.ctl("plugins", "ls")

    def ctl(self, *arguments, data=b""):
        subprocess.run([self.root / "usr/bin/ctr", "-a", self.socket, *arguments], input=data,
                       capture_output=True, timeout=REQUEST_SECONDS, check=True,
                       env=self.environment)


class Dockerd(Daemon):
    """With a containerd and a runc, but without a network of its own."""
    ready = "/_ping"

    def __init__(self, root, folder, environment):
        super().__init__(root, folder, environment)
        self.address = folder / "socket"

    def command(self):
        path = [self.root / "usr/bin", self.root / "usr/sbin", os.environ.get("PATH", os.defpath)]
        self.environment |= {"PATH": ":".join(map(str, path)), "HOME": str(self.folder),
                             "LD_LIBRARY_PATH": f"{self.root / LIBRARIES}"}
        return [self.root / "usr/sbin/dockerd", "--bridge=none", "--iptables=false",
                f"--data-root={self.folder}/data", f"--exec-root={self.folder}/exec",
                f"--pidfile={self.folder}/pid", f"--host=unix://{self.address}",
                "--storage-driver=vfs", "--experimental",
                f"--metrics-addr=127.0.0.1:{self.port}"]

    def work(self, client, i):
        client.headers["Content-Type"] = "application/json"
        client.ask("/volumes/create", json.dumps({"Name": f"volume{i}"}))
        client.ask("/volumes")
        client.ask("/info")


class Caddy(Daemon):
    ready = "/"
    profile = PROFILE

    def profile_address(self):
        return self.port

    def command(self):
        admin, self.address = self.port, next(PORTS)
        for i in range(200):
            (self.folder / "www" / f"folder{i}").mkdir(parents=True)
        (self.folder / "www/page").write_text("text of a page\n" * 20000)
        (self.folder / "Caddyfile").write_text(
            f"{{\nadmin 127.0.0.1:{admin}\nauto_https off\nmetrics\n}}\n"
            f"http://127.0.0.1:{self.address} {{\nroot * www\nencode gzip\n"
            "file_server browse\n}\n")
        return [self.root / "usr/bin/caddy", "run", "--config=Caddyfile", "--adapter=caddyfile"]

    def work(self, client, i):
        client.headers["Accept-Encoding"] = "gzip"
        client.ask("/?sort=size")
        client.ask("/page")


class Rclone(Daemon):
    ready = "/metrics"
    profile = PROFILE

    def command(self):
        for i in range(2000):
            (self.folder / f"files/{i % 50}").mkdir(parents=True, exist_ok=True)
            (self.folder / f"files/{i % 50}/{i}").touch()
        return [self.root / "usr/bin/rclone", "rcd", "--rc-no-auth", "--rc-enable-metrics", "-v",
                f"--rc-addr=127.0.0.1:{self.address}"]

    def work(self, client, i):
        client.headers["Content-Type"] = "application/json"
        client.ask("/operations/list", json.dumps({
            "fs": str(self.folder / "files"), "remote": "", "opt": {"recurse": True}}))


class Present(Daemon):
    """Shows slides."""
    ready = "/"
    metrics = None

    def command(self):
        (self.folder / "all.slide").write_text(
            "Title\n\n" + "".join(f"* Slide {i}\n\nText with *words*\n\n" for i in range(500)))
        base = self.root / "usr/share/golang-golang-x-tools/present"
        return [self.root / "usr/bin/present", f"-http=127.0.0.1:{self.address}",
                f"-base={base}", "-play=false"]

    def work(self, client, i):
        client.ask("/all.slide")


class Gojq(Daemon):
    """Reads documents and keeps them. It answers nobody."""
    metrics = None
    documents = 20000

    def command(self):
        return [self.root / "usr/bin/gojq", "-c", "foreach inputs as $x ([]; . + [$x]; length)"]

    def life(self, process):
        document = json.dumps({"name": "value", "list": list(range(50)), "of": {"more": None}})
        for moment in (self.moment_at_work, "quiet"):
            process.child.stdin.write(f"{document}\n".encode() * self.documents)
            process.child.stdin.flush()
            if moment == "quiet":
                time.sleep(1)
            yield moment


class Esbuild(Daemon):
    """Bundles modules again whenever one has changed."""
    moment_at_work = "building1"
    metrics = None
    modules = 200

    def command(self):
        (self.folder / "modules").mkdir()
        for i in range(self.modules):
            self.write_module(i, 0)
        (self.folder / "modules/all.js").write_text(
            "".join(f"export * from './m{i}.js'\n" for i in range(self.modules)))
        return [self.root / "package/bin/esbuild", "modules/all.js", "--bundle", "--watch",
                "--sourcemap", "--outfile=bundle.js"]

    def write_module(self, i, change):
        lines = [f"export function f{i}_{j}(a, b) {{ return [a, b, {change}, 'text {i} {j}'] }}\n"
                 for j in range(50)]
        (self.folder / f"modules/m{i}.js").write_text("".join(lines))

    def life(self, process):
        bundle = self.folder / "bundle.js"
        process.await_true(bundle.exists)
        time.sleep(1)
        yield "idle"
        seconds = 0
        for change, share in enumerate([1, 0.25, 0.5, 0.75]):
            before, said = bundle.stat().st_mtime_ns, process.said()
            self.write_module(change, change + 1)
            process.await_true(lambda: process.said() != said, pause=0.001)
            start = time.monotonic()
            if not change:
                process.await_true(lambda: bundle.stat().st_mtime_ns != before, pause=0.001)
                seconds = time.monotonic() - start
                time.sleep(0.5)
                continue
            time.sleep(seconds * share)
            yield f"building{change}"
            process.await_true(lambda: bundle.stat().st_mtime_ns != before)
            time.sleep(0.5)


@dataclasses.dataclass(frozen=True)
class Source:
    """packages: of Debian, the first of a suite each; or one of npm."""
    daemon: type
    packages: tuple
    npm: bool = False


def of_suite(daemon, suite, *packages, others=()):
    return Source(daemon, (*(f"{package}/{suite}" for package in packages), *others))


def sources(suite, syncthing=Syncthing):
    return {
        f"prometheus-{suite}": of_suite(Prometheus, suite, "prometheus"),
        f"etcd-{suite}": of_suite(Etcd, suite, "etcd-server"),
        f"syncthing-{suite}": of_suite(syncthing, suite, "syncthing"),
        f"containerd-{suite}": of_suite(Containerd, suite, "containerd"),
        f"dockerd-{suite}": of_suite(Dockerd, suite, "docker.io", "containerd", others=RUNC),
    }


def of_npm(package, version):
    """Each release of esbuild has a Go of its own."""
    return {f"esbuild-{version}": Source(Esbuild, (f"{package}@{version}",), npm=True)}


# What has no suite of all, or a Go that no other has.
OTHERS = {
    "gojq-trixie": of_suite(Gojq, "trixie", "gojq"),  # go1.21.3
    "rclone-trixie": of_suite(Rclone, "trixie", "rclone"),  # go1.23.2
    "caddy-backports": of_suite(Caddy, "trixie-backports", "caddy"),  # go1.26.3
    "present-backports": of_suite(Present, "trixie-backports",  # go1.27.4
                                  "golang-golang-x-tools"),
}

SOURCES = {
    **sources("bullseye", OldSyncthing),
    **sources("bookworm", OldSyncthing),
    **sources("trixie"),
    **OTHERS,
    **of_npm("esbuild-linux-64", "0.9.0"),  # go1.16
    **of_npm("esbuild-linux-64", "0.12.29"),  # go1.17.1
    **of_npm("esbuild-linux-64", "0.14.30"),  # go1.18
    **of_npm("esbuild-linux-64", "0.14.54"),  # go1.19
    **of_npm("@esbuild/linux-x64", "0.17.12"),  # go1.20.2
    **of_npm("@esbuild/linux-x64", "0.18.20"),  # go1.20.7
    **of_npm("@esbuild/linux-x64", "0.23.1"),  # go1.22.5
    **of_npm("@esbuild/linux-x64", "0.24.2"),  # go1.23.1
    **of_npm("@esbuild/linux-x64", "0.25.12"),  # go1.23.12
    **of_npm("@esbuild/linux-x64", "0.27.1"),  # go1.25.4, without build info
}
