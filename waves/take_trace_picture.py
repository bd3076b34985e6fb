#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a picture of a timeline (azulejo run ... --trace FILE) in the trace viewer that chrome://tracing is.

  take_trace_picture.py TRACE.json PICTURE.png

Debian's chromium has no chrome://tracing; the viewer comes from Debian's golang-1.19-src, which need not be installed:
  apt-get download golang-1.19-src && dpkg-deb -x golang-1.19-src_*.deb go
  take_trace_picture.py --viewer go/usr/share/go-1.19/src/cmd/trace/static TRACE.json PICTURE.png
Needs chromium.
"""
import argparse
import http.server
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8">
<script src="webcomponents.min.js"></script>
<link rel="import" href="trace_viewer_full.html">
<style>
  html, body { margin: 0; width: 100%; height: 100%; overflow: hidden; }
  #viewer { width: 100%; height: 100%; }
  tr-ui-b-info-bar-group { display: none !important; }   /* it warns of an old browser interface */
</style>
<script>
fetch('hold');   // its answer comes after 'done', and until then the picture is not taken
document.addEventListener('WebComponentsReady', async () => {
  const tracks = document.createElement('track-view-container');
  tracks.id = 'track_view_container';
  const viewer = document.createElement('tr-ui-timeline-view');
  viewer.id = 'viewer';
  viewer.track_view_container = tracks;
  Polymer.dom(viewer).appendChild(tracks);
  viewer.globalMode = true;
  Polymer.dom(document.body).appendChild(viewer);
  const text = await (await fetch('trace.json')).text();
  const model = new tr.Model();
  const options = new tr.importer.ImportOptions();
  options.shiftWorldToZero = false;
  await new tr.importer.Import(model, options).importTraces([text]);
  viewer.model = model;
  viewer.viewTitle = 'TITLE';
  // Selected, so that its arguments are listed below: the longest span of the first track that has one.
  const threads = Object.values(model.processes).flatMap(process => Object.values(process.threads));
  const slices = threads.map(thread => thread.sliceGroup.slices).find(slices => slices.length) || [];
  const longest = slices.reduce((a, b) => b.duration > a.duration ? b : a, slices[0]);
  if (longest) viewer.brushingStateController.changeSelectionFromTimeline(new tr.model.EventSet([longest]));
  const warnings = model.importWarnings.map(w => w.message);
  fetch('done?' + encodeURIComponent(warnings.join('; ')), {method: 'POST'});
});
</script></head><body></body></html>
"""


def handler(pages, warnings):
    done = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/hold":
                done.wait(60)
            data = pages.get(self.path)
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Type", "text/javascript" if self.path.endswith(".js") else "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(data or b"")

        def do_POST(self):
            warnings.append(self.path.partition("?")[2])
            self.send_response(204)
            self.end_headers()
            done.set()

        def log_message(self, *_):
            pass
    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewer", type=pathlib.Path, default=pathlib.Path("/usr/share/go-1.19/src/cmd/trace/static"))
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("picture", type=pathlib.Path)
    arguments = parser.parse_args()
    pages = {"/": PAGE.replace("TITLE", arguments.trace.name).encode(), "/trace.json": arguments.trace.read_bytes()}
    for name in ("webcomponents.min.js", "trace_viewer_full.html"):
        pages["/" + name] = (arguments.viewer / name).read_bytes()
    warnings = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(pages, warnings))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="azulejo_trace_") as profile:
        subprocess.run(["chromium", "--headless", *(["--no-sandbox"] if os.geteuid() == 0 else []), "--disable-gpu",
                        "--disable-quic", "--no-first-run", "--disable-background-networking", f"--user-data-dir={profile}",
                        "--window-size=1600,900", "--virtual-time-budget=20000", "--hide-scrollbars",
                        f"--screenshot={arguments.picture.resolve()}", f"http://127.0.0.1:{server.server_port}/"],
                       check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server.shutdown()
    if warnings != [""]:
        sys.exit(f"the viewer did not load the trace without a warning: {warnings}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
