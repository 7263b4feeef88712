"""The page within a report: its reader changes a value, and sees the changed run."""

import base64
import gzip

_SECTION = """<details class="card" id="live">
<summary>Change a value: simulate this scenario anew, beside the recorded run</summary>
<iframe title="Sojourn's page with this run" style="width: 100%; height: 90vh; border: 0"></iframe>
</details>
"""
_SCRIPT = """<script type="text/plain" id="live-page">{page}</script>
<script type="module">
const live = document.getElementById("live");
const open = async () => {{
  const packed = atob(document.getElementById("live-page").textContent);
  const bytes = Uint8Array.from(packed, (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const page = new Blob([await new Response(stream).arrayBuffer()], {{ type: "text/html" }});
  live.querySelector("iframe").src = URL.createObjectURL(page);
}};
live.addEventListener("toggle", open, {{ once: true }});
</script>
"""


def with_page(report: str, page: str) -> str:
    """Return a report in HTML that contains the page of `page_server.live_page`.

    The page starts when the reader opens its section.
    """
    packed = base64.b64encode(gzip.compress(page.encode(), mtime=0)).decode()
    before, end, after = report.rpartition("</main>")
    return f"{before}{_SECTION}{end}\n{_SCRIPT.format(page=packed)}{after}"
