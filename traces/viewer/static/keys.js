// Keys of all pages. [data-step] are rows or events to walk through, [data-open] is the link that Enter follows,
// [data-go] a page, [data-search] the field that / goes to. Nothing is taken from who types, or with a modifier held.

const TYPED = "input, textarea, select, [contenteditable]";
const PAUSE = 1500;

let waiting = 0;

export function listen() {
  const button = document.getElementById("keys-button");
  const dialog = document.getElementById("keys");
  button.hidden = false;
  button.addEventListener("click", () => dialog.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest(TYPED) || document.querySelector("dialog[open]")) return;
    if (act(event, dialog)) event.preventDefault();
  });
}

function act(event, dialog) {
  if (performance.now() < waiting) {
    waiting = 0;
    return go(event.key);
  }
  switch (event.key) {
    case "g":
      waiting = performance.now() + PAUSE;
      return true;
    case "?":
      dialog.showModal();
      return true;
    case "/":
      return search();
    case "j":
      return step(1);
    case "k":
      return step(-1);
    case "Enter":
      return enter(event.target);
    default:
      return false;
  }
}

function go(key) {
  const link = [...document.querySelectorAll("[data-go]")].find((each) => each.dataset.go === key);
  link?.click();
  return Boolean(link);
}

function search() {
  const field = document.querySelector("[data-search]");
  if (!field) return false;
  field.focus();
  field.select();
  return true;
}

function step(by) {
  const steps = [...document.querySelectorAll("[data-step]")].filter((each) => each.offsetParent !== null);
  if (!steps.length) return false;
  const here = steps.findIndex((each) => each.classList.contains("here"));
  const focused = steps.findIndex((each) => each.contains(document.activeElement));
  const from = focused >= 0 ? focused : here;
  const next = from < 0 ? 0 : Math.min(steps.length - 1, Math.max(0, from + by));
  for (const each of steps) each.classList.toggle("here", each === steps[next]);
  const target = steps[next].querySelector("[data-open]") ?? steps[next];
  if (!target.matches("a, button, summary, [tabindex]")) target.tabIndex = -1;
  target.focus({ preventScroll: true });
  steps[next].scrollIntoView({ block: "nearest" });
  return true;
}

function enter(target) {
  if (target.closest("a, button, summary")) return false;
  const link = document.querySelector("[data-step].here [data-open]");
  link?.click();
  return Boolean(link);
}
