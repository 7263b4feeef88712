// Loads the simulator when a reader opens "Try it here": it takes memory and processor time.
for (const opened of document.querySelectorAll("details.try")) {
  opened.addEventListener("toggle", () => {
    if (!opened.open || opened.querySelector("iframe")) return;
    const frame = document.createElement("iframe");
    frame.className = "try-page";
    frame.title = "The simulator";
    frame.src = opened.dataset.page;
    opened.append(frame);
  });
}
