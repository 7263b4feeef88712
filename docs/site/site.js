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

// Gives each column of a table the width of its longest text, up to a limit of site.css. Otherwise a
// wide table shrinks every column to its longest word before it scrolls.
// Two columns fit every screen.
for (const table of document.querySelectorAll(".md-typeset table:not([class])")) {
  const rows = [...table.rows];
  if ((rows[0]?.cells.length ?? 0) < 3) continue;
  for (const [at, head] of [...rows[0].cells].entries()) {
    const longest = Math.max(...rows.map((row) => row.cells[at]?.textContent.trim().length ?? 0));
    head.style.setProperty("--column", `calc(${longest}ch + 1.8em)`);
  }
}
