/* Jumps between differences: f to the first divergence, a to where answers part, n and p to the next and the last one;
   s swaps the sides, x unfolds all. The address names the row that was jumped to, so that it can be kept. */
import { copyingLink } from "./copying.js";
import { reveal, unfolding } from "./folds.js";

const rows = [...document.querySelectorAll("[data-difference]")];
let at = -1;

function to(row) {
  if (!row) return;
  reveal(row);
  at = rows.indexOf(row);
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "start" });
  history.replaceState(null, "", `#${row.id}`);
}

/* From where the reader is: the row that was jumped to, else the first that is below the top of the window. */
function step(by) {
  if (at < 0) {
    const top = document.querySelector(".diff-top").getBoundingClientRect().bottom;
    const below = rows.findIndex((row) => row.getBoundingClientRect().top >= top);
    return to(rows[by > 0 ? Math.max(below, 0) : below < 0 ? rows.length - 1 : Math.max(below - 1, 0)]);
  }
  to(rows[Math.min(Math.max(at + by, 0), rows.length - 1)]);
}

const target = (link) => link && document.getElementById(link.hash.slice(1));
const [first, parting, next, previous, swap, unfold] = ["first", "parting", "next", "previous", "swap", "unfold"].map(
  (name) => document.querySelector(`[data-${name}]`),
);
const toggle = unfolding(document.querySelector(".diff-rows"), unfold);
for (const link of [first, parting]) {
  link?.addEventListener("click", (event) => (event.preventDefault(), to(target(link))));
}
for (const [button, by] of [[next, 1], [previous, -1]]) {
  if (!button) continue;
  button.hidden = false;
  button.addEventListener("click", () => step(by));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.matches?.("input, select, textarea") || document.querySelector("dialog[open]")) return;
  const act = {
    f: first && (() => to(target(first))),
    a: parting && (() => to(target(parting))),
    n: () => step(1),
    p: () => step(-1),
    x: toggle,
    s: swap && (() => swap.click()),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

const choose = document.querySelector("[data-choose]");
choose?.addEventListener("change", () => choose.requestSubmit());

copyingLink(document);

const arrive = () => /^#row-\d+$/.test(location.hash) && to(target(location));
addEventListener("hashchange", arrive);
arrive();
