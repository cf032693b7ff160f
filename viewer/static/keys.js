// Keys of all pages. [data-step] are rows or events to walk through, [data-open] is the link that Enter follows,
// [data-go] a page, [data-search] the field that / goes to. Nothing is taken from who types, or with a modifier held.

const TYPED = "input, textarea, select, [contenteditable]";
const PAUSE = 1500;

let waiting = 0;

export function listen() {
  comeBack();
  const button = document.getElementById("keys-button");
  const dialog = document.getElementById("keys");
  button.hidden = false;
  button.addEventListener("click", () => dialog.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest(TYPED) || document.querySelector("dialog[open]")) return;
    if (act(event, dialog)) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const row = event.target.closest("a[href]") && event.target.closest("[data-step]");
    if (row) keep(row);
  });
}

function act(event, dialog) {
  // By the time of the key, which a busy page may hear of late.
  const second = event.timeStamp < waiting;
  waiting = 0;
  if (second && go(event.key)) return true;
  switch (event.key) {
    case "g":
      waiting = event.timeStamp + PAUSE;
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
  const here = steps.findIndex((each) => each.matches(".here, .was-here"));
  const focused = steps.findIndex((each) => each.contains(document.activeElement));
  const from = focused >= 0 ? focused : here;
  const back = by < 0 && steps[from]?.matches(".was-here");
  const next = from < 0 ? 0 : Math.min(steps.length - 1, Math.max(0, back ? from : from + by));
  stand(steps[next]);
  keep(steps[next]);
  return true;
}

function stand(row) {
  for (const each of document.querySelectorAll("[data-step]")) {
    each.classList.toggle("here", each === row);
    each.classList.remove("was-here");
  }
  const target = row.querySelector("[data-open]") ?? row;
  if (!target.matches("a, button, summary, [tabindex]")) target.tabIndex = -1;
  target.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

// Who comes back to this page stands where they left it: what `data-open` leads to is kept with its place in the history.
const leadsTo = (row) => row.querySelector("[data-open]")?.getAttribute("href");

function keep(row) {
  if (leadsTo(row)) history.replaceState({ ...history.state, here: leadsTo(row) }, "");
}

function comeBack() {
  const left = history.state?.here;
  const row = left && [...document.querySelectorAll("[data-step]")].find((each) => leadsTo(each) === left);
  if (row) stand(row);
}

function enter(target) {
  if (target.closest("a, button, summary")) return false;
  const link = document.querySelector("[data-step].here [data-open]");
  link?.click();
  return Boolean(link);
}
