// Opens the page of docs/guide/page.md within the report, once a reader asks for it.
const live = document.getElementById("live");
const part = (name) => document.getElementById(`live-${name}`).textContent;

const unpacked = (packed) => {
  const bytes = Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};

const open = async () => {
  const empty = '<script type="text/plain" id="sojourn-record">';
  const page = (await unpacked(part("page"))).replace(empty, empty + part("record"));
  const address = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  live.querySelector("iframe").src = address;
};
live.addEventListener("toggle", open, { once: true });
