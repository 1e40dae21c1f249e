#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""serve_files.py ROOT PORT_FILE LOG: an HTTP server on loopback, for tests with debug servers good and bad.

It serves the files below ROOT; a FIFO there holds the answer back until something is written into it. The first part
of a path may say how the rest is answered:

    /hangs/...   never
    /fails/...   as a server that is broken
    /slowly/...  after a third of a second, and not while there is a file ROOT/hold

Its port is written to PORT_FILE, every path that is asked for to LOG, a line each.
"""
import http.server
import os
import socketserver
import sys
import time
import urllib.parse

root, port_file, log = sys.argv[1:]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def do_GET(self):
        with open(log, "a", encoding="utf-8") as file:
            file.write(urllib.parse.unquote(self.path) + "\n")
        path = urllib.parse.unquote(self.path)
        if path.startswith("/hangs/"):
            time.sleep(1000)
        if path.startswith("/fails/"):
            self.send_error(500)
            return
        if path.startswith("/slowly/"):
            path = path[len("/slowly"):]
            time.sleep(0.3)
            while os.path.exists(root + "/hold"):
                time.sleep(0.05)
        try:
            with open(root + path, "rb") as file:
                data = file.read()
        except OSError:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # who asked is gone


server = Server(("127.0.0.1", 0), Handler)
with open(port_file, "w", encoding="utf-8") as file:
    file.write(str(server.server_port))
server.serve_forever()
