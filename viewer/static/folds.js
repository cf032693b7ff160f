// Folds of a page, and long texts that show their beginning: each by itself, and all at once by a button and by x. And
// what a fold hides is opened for who is led to it.

const folds = (box) => [...box.querySelectorAll("details")];
/* A line more or less is no reason for a button. */
const clipped = (pane) => pane.scrollHeight > pane.clientHeight + 24;

export function unfolding(box, button) {
  const toggle = () => {
    const open = !box.classList.contains("is-unfolded");
    box.classList.toggle("is-unfolded", open);
    for (const each of folds(box)) each.open = open;
    button.setAttribute("aria-pressed", String(open));
  };
  // A pane within a fold has no height before that is open.
  box.addEventListener("toggle", (event) => settle(box, button, event.target), true);
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", toggle);
  settle(box, button);
  return toggle;
}

/* For what has come since: it is unfolded like the rest, and what does not fit into its pane has a button that shows it. */
export function settle(box, button, part = box) {
  if (box.classList.contains("is-unfolded")) for (const each of folds(part)) each.open = true;
  for (const pane of part.querySelectorAll("pre:not([data-clip])")) {
    if (!clipped(pane)) continue;
    pane.dataset.clip = "";
    pane.tabIndex = 0; // so that keys can scroll it
    pane.setAttribute("role", "region");
    if (!pane.hasAttribute("aria-label")) pane.setAttribute("aria-label", pane.textContent.trim().slice(0, 40));
    const all = document.createElement("button");
    all.type = "button";
    all.className = "show-all";
    all.textContent = "Show all";
    all.addEventListener("click", () => {
      const whole = pane.classList.toggle("is-whole");
      all.textContent = whole ? "Show less" : "Show all";
    });
    pane.after(all);
  }
  button.hidden = !folds(box).length && !box.querySelector("[data-clip]");
}

export function reveal(element) {
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}
