// The service worker: keeps the files of the page, so that it opens without its server.

declare const FILES: string[];
/** Files that are kept once they were used. */
declare const LATER: string[];
declare const VERSION: string;
declare const self: {
  addEventListener: (kind: string, listener: (event: Work) => void) => void;
  registration: { scope: string };
  location: Location;
};

interface Work extends Event {
  request: Request;
  waitUntil: (work: Promise<unknown>) => void;
  respondWith: (work: Promise<Response>) => void;
}

export {};

const NAME = `sojourn ${VERSION}`;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(["./", ...FILES])));
});

self.addEventListener("activate", (event) => {
  // Another page of this host may have caches of other names.
  const isOld = (name: string) => name.startsWith("sojourn ") && name !== NAME;
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name)))));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const name = request.url.replace(/[?#].*/, "").slice(self.registration.scope.length);
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  if (name !== "" && !FILES.includes(name) && !LATER.includes(name)) return;
  event.respondWith(answer(request, name || "./"));
});

/** The kept file first: a server may not have the page any more. */
async function answer(request: Request, name: string): Promise<Response> {
  const cache = await caches.open(NAME);
  const kept = await cache.match(name);
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok) await cache.put(name, response.clone());
  return response;
}
