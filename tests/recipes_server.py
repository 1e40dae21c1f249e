#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes what Pyroscope and Parca take, in the form that they document, and nothing else.

    recipes_server.py FOLDER

Its port goes into FOLDER/port; the profiles that it was sent into FOLDER/pyroscope and FOLDER/parca, what came with them
into FOLDER/pyroscope.labels and FOLDER/parca.labels, and why a request was refused into FOLDER/refused.

Pyroscope: "Server HTTP API", POST /ingest. Parca: parca/profilestore/v1alpha1/profilestore.proto, and PROTOCOL-WEB of gRPC.
"""
import http.server
import os
import struct
import sys
import urllib.parse

from read_pprof import fields

FOLDER = sys.argv[1]
WRITE_RAW = "/api/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"


def keep(name, data):
    with open(os.path.join(FOLDER, name), "ab") as file:
        file.write(data)


def only(values):
    assert len(values) == 1, f"{len(values)} instead of one"
    return values[0]


def ingest(query, body):
    asked = {name: only(values) for name, values in urllib.parse.parse_qs(query, strict_parsing=True).items()}
    assert asked.keys() == {"name", "format", "from", "until"}, f"parameters {sorted(asked)}"
    assert asked["format"] == "pprof", f"format {asked['format']}"
    assert int(asked["from"]) < int(asked["until"]), "no time passes"
    keep("pyroscope", body)
    keep("pyroscope.labels", f"{asked['name']} {asked['from']} {asked['until']}\n".encode())
    return b""


def write_raw(content_type, body):
    assert content_type == "application/grpc-web+proto", f"type {content_type}"
    flags, size = struct.unpack(">BI", body[:5])
    assert flags == 0 and size == len(body) - 5, f"a frame of {size} bytes, {len(body) - 5} are there"
    request = fields(body[5:])
    assert request.keys() <= {2, 3} and only(request[3]) == 1, f"fields {sorted(request)} of WriteRawRequest"
    series = fields(only(request[2]))
    assert series.keys() == {1, 2}, f"fields {sorted(series)} of RawProfileSeries"
    for label in fields(only(series[1]))[1]:
        pair = fields(label)
        keep("parca.labels", only(pair[1]) + b" " + only(pair[2]) + b"\n")
    keep("parca", only(fields(only(series[2]))[1]))
    trailer = b"grpc-status: 0\r\n"
    return struct.pack(">BI", 0, 0) + struct.pack(">BI", 0x80, len(trailer)) + trailer


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        url = urllib.parse.urlsplit(self.path)
        try:
            assert url.path in ("/ingest", WRITE_RAW), f"path {url.path}"
            if url.path == "/ingest":
                answer = ingest(url.query, body)
            else:
                answer = write_raw(self.headers["Content-Type"], body)
        except (AssertionError, IndexError, ValueError, struct.error) as why:
            keep("refused", f"{self.path}: {why}\n".encode())
            self.send_error(400)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
keep("port.new", f"{server.server_port}\n".encode())
os.rename(os.path.join(FOLDER, "port.new"), os.path.join(FOLDER, "port"))
server.serve_forever()
