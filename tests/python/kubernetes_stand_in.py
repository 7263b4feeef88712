"""A stand-in for Kubernetes' API server and for the operator of dask-kubernetes, on loopback.

It starts the processes that a `DaskCluster` describes, as the operator starts them in pods.
"""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_CLUSTERS = "/apis/kubernetes.dask.org/v1/namespaces/default/daskclusters"


class Server(ThreadingHTTPServer):
    """The objects of the cluster, and the processes of its pods."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.created: dict[str, Any] | None = None
        self.cluster: dict[str, Any] | None = None
        self.ports = {"tcp-comm": _free_port(), "http-dashboard": _free_port()}
        self.pods: list[subprocess.Popen[bytes]] = []

    def create(self, cluster: dict[str, Any]) -> None:
        """Start the scheduler and the workers of the manifest."""
        self.created = cluster
        self.cluster = {**cluster, "status": {"phase": "Running"}}
        scheduler = cluster["spec"]["scheduler"]["spec"]["containers"][0]
        comm, dashboard = self.ports["tcp-comm"], self.ports["http-dashboard"]
        more = ["--port", str(comm), "--dashboard-address", f":{dashboard}"]
        self._start([*scheduler["args"], *more], {})
        worker = cluster["spec"]["worker"]
        for number in range(worker["replicas"]):
            # As the operator sets them in the pods.
            own = {
                "DASK_WORKER_NAME": f"worker-{number}",
                "DASK_SCHEDULER_ADDRESS": f"tcp://127.0.0.1:{comm}",
            }
            args = [text for text in worker["spec"]["containers"][0]["args"] if text != "8788"]
            args.insert(args.index("--dashboard-address") + 1, ":0")
            self._start([*args, "--nthreads", "1"], own)

    def _start(self, args: list[str], own: dict[str, str]) -> None:
        texts = [re.sub(r"\$\((\w+)\)", lambda found: own[found[1]], text) for text in args]
        module = "distributed.cli." + texts[0].replace("-", "_")
        line = [sys.executable, "-m", module, *texts[1:]]
        self.pods.append(subprocess.Popen(line, env={**os.environ, **own}, stderr=-3, stdout=-3))

    def delete(self) -> None:
        """End the pods."""
        self.cluster = None
        for pod in self.pods:
            pod.terminate()
            pod.wait()

    def answer(self, path: str) -> dict[str, Any] | None:
        """Return an object or a list; None if it does not exist."""
        name = path.rpartition("/")[2]
        if path.strip("/") == "version":
            return {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
        if path == _CLUSTERS:
            return _list("DaskCluster", [self.cluster] if self.cluster else [])
        if path.startswith(_CLUSTERS):
            return self.cluster
        if path.endswith("/pods"):
            return _list("Pod", [_POD] if self.cluster else [])
        if path.endswith("/pods/scheduler"):
            return _POD
        if "/services" in path:
            service = self._service()
            return service if name != "services" else _list("Service", [service])
        return None

    def _service(self) -> dict[str, Any]:
        if self.created is None:
            return {}
        about = self.created["spec"]["scheduler"]["service"]
        ports = [{"name": key, "port": port} for key, port in self.ports.items()]
        name = self.created["metadata"]["name"]
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"{name}-scheduler", "namespace": "default"},
            "spec": {**about, "ports": ports},
            "status": {"loadBalancer": {"ingress": [{"ip": "127.0.0.1"}]}},
        }


_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "scheduler", "namespace": "default"},
    "status": {
        "phase": "Running",
        "conditions": [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")],
    },
}


def _list(kind: str, items: list[Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": f"{kind}List", "metadata": {}, "items": items}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        found = self.server.answer(urlsplit(self.path).path)
        self._send(found, 200 if found is not None else 404)

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.create(given)
        self._send(self.server.cluster, 201)

    def do_DELETE(self) -> None:
        self.server.delete()
        self._send({}, 200)

    def log_message(self, format: str, *args: object) -> None:
        return

    def _send(self, body: dict[str, Any] | None, status: int) -> None:
        failure = {"kind": "Status", "status": "Failure", "message": "not found", "code": status}
        data = json.dumps(failure if body is None else body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def kubernetes(folder: Path) -> Iterator[tuple[Server, Path]]:
    """Run the server; yield it with the file of `kubectl` that names it."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    config = folder / "kubeconfig"
    address = f"http://127.0.0.1:{server.server_address[1]}"
    config.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "clusters": [{"name": "here", "cluster": {"server": address}}],
                "users": [{"name": "here", "user": {}}],
                "contexts": [
                    {
                        "name": "here",
                        "context": {"cluster": "here", "user": "here", "namespace": "default"},
                    }
                ],
            }
        ),
        "utf-8",
    )
    try:
        yield server, config
    finally:
        server.delete()
        server.shutdown()
        server.server_close()
