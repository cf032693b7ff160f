"use strict";
const cells = [...document.querySelectorAll("fieldset")];
const person = document.getElementById("person");
const kept = `toolablate-clear-${document.body.dataset.draft}`;

function said(cell) {
  const line = JSON.parse(cell.dataset.line);
  const text = cell.querySelector("textarea");
  // A browser writes every line break of a text area as one sign.
  const changed = text !== null && text.value !== text.defaultValue;
  if (text !== null) line.text = changed ? text.value : line.mapped;
  const chosen = [...cell.querySelectorAll("input:checked")];
  for (const each of chosen) line[each.dataset.name] = each.value === "true";
  return changed || chosen.length > 0 ? line : null;
}

function show() {
  let count = 0;
  for (const cell of cells) {
    const done = said(cell) !== null;
    cell.classList.toggle("said", done);
    count += done;
  }
  document.getElementById("said").textContent = `${count} of ${cells.length} looked at`;
}

function draft() {
  return { person: person.value, cells: cells.map((cell) => ({
    text: cell.querySelector("textarea")?.value,
    chosen: [...cell.querySelectorAll("input:checked")].map((each) => [each.dataset.name, each.value]),
  })) };
}

function restore() {
  try {
    const found = JSON.parse(localStorage.getItem(kept));
    if (found === null) return;
    person.value = found.person;
    found.cells.forEach((was, place) => {
      const text = cells[place].querySelector("textarea");
      if (text !== null && was.text !== undefined) text.value = was.text;
      for (const [name, value] of was.chosen)
        for (const each of cells[place].querySelectorAll("input"))
          if (each.dataset.name === name && each.value === value) each.checked = true;
    });
  } catch { /* A browser may keep nothing for a local file. */ }
}

document.addEventListener("input", () => {
  show();
  try { localStorage.setItem(kept, JSON.stringify(draft())); } catch { /* as above */ }
});

document.getElementById("save").addEventListener("click", () => {
  const lines = cells.map(said).filter((line) => line !== null);
  const text = lines.map((line) => JSON.stringify({ ...line, person: person.value }) + "\n").join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  link.download = document.body.dataset.savedAs;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
});

restore();
show();
