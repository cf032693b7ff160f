/* Events that are not here yet come when one scrolls or jumps to them; keys: j k e f x [ ] d. */
import { copying, copyingLink } from "./copying.js";
import { finding } from "./finding.js";
import { settle, unfolding } from "./folds.js";

const trial = document.querySelector("[data-trial]");
const box = trial.querySelector("[data-events-box]");
const select = trial.querySelector("[data-jump]");
const unfold = trial.querySelector("[data-unfold]");
const outline = new Map([...trial.querySelectorAll("[data-outline] a")].map((each) => [Number(each.dataset.to), each]));
const numbers = (name) => (trial.dataset[name] || "").split(" ").filter(Boolean).map(Number);
const evidence = (trial.dataset.evidence || "").split(" ").filter(Boolean);
/* `#event-5` is an event, `#event-5-quote` the first words of it that are marked. */
const numberOf = (anchor) => Number(/^#?event-(\d+)(-quote)?$/.exec(anchor)?.[1] ?? NaN);
const count = Number(trial.dataset.events);
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let here = -1;
/* Where one is led to just now: who presses a key again before it is there goes on from it. */
let bound = -1;
let coming = Promise.resolve();

const eventAt = (number) => document.getElementById(`event-${number}`);
const next = () => box.querySelector("[data-more]");

/* One part after the other: each ends with what leads to the next one. */
function more(until) {
  coming = coming.then(async () => {
    const link = next();
    if (!link || (until !== undefined && eventAt(until))) return false;
    const address = link.dataset.more + (until === undefined ? "" : `&until=${until}`);
    const reply = await fetch(address, { credentials: "same-origin" });
    if (!reply.ok) throw new Error(`${address}: ${reply.status}`);
    const made = document.createElement("template");
    made.innerHTML = await reply.text();
    link.replaceWith(made.content);
    watch();
    return true;
  }).catch(() => false);
  return coming;
}

async function reach(number) {
  while (!eventAt(number) && next()) if (!(await more(number))) break;
  return eventAt(number);
}

async function go(number, anchor = `event-${number}`) {
  if (!(number >= 0 && number < count)) return;
  bound = number;
  const event = await reach(number);
  if (bound !== number) return;
  bound = -1;
  if (!event) return void location.assign(`?from=${number}#${anchor}`);
  mark(number);
  event.focus({ preventScroll: true });
  const quote = anchor === event.id ? null : document.getElementById(anchor);
  const behavior = calm.matches ? "instant" : "auto";
  event.scrollIntoView({ block: "start", behavior });
  quote?.scrollIntoView({ block: "center", behavior });
  history.replaceState(null, "", `#${anchor}`);
}

function mark(number, chosen = true) {
  box.querySelector(".is-here")?.classList.remove("is-here");
  outline.get(here)?.removeAttribute("aria-current");
  here = number;
  if (chosen) eventAt(here)?.classList.add("is-here");
  const entry = outline.get(here);
  entry?.setAttribute("aria-current", "true");
  if (select && outline.has(here)) select.value = String(here);
  const list = entry?.closest("nav");
  // Who points into the outline keeps what is under the pointer, though the page scrolls: a click would go elsewhere.
  if (list && entry.offsetParent && (chosen || !list.matches(":hover, :focus-within"))) {
    const [top, height] = [entry.offsetTop, list.clientHeight];
    if (top < list.scrollTop || top > list.scrollTop + height - 40) list.scrollTop = top - height / 2;
  }
}

/* The event that one reads: the last that begins in the upper third of the window, or above. */
function reading() {
  const shown = [...box.querySelectorAll("[data-event]")];
  let [low, high] = [0, shown.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (shown[middle].getBoundingClientRect().top < innerHeight / 3) low = middle + 1;
    else high = middle;
  }
  return low ? Number(shown[low - 1].dataset.event) : -1;
}

const watcher = new IntersectionObserver((seen) => {
  if (seen.some((each) => each.isIntersecting)) more();
}, { rootMargin: "1200px" });
function watch() {
  settle(box, unfold);
  watcher.disconnect();
  const link = next();
  if (link) watcher.observe(link);
}

const standing = () => (bound >= 0 ? bound : here >= 0 ? here : reading());

const keys = {
  j: () => go(standing() + 1),
  k: () => go(standing() - 1),
  e: () => {
    const anchor = evidence.find((each) => numberOf(each) > Math.max(here, bound)) ?? evidence[0];
    if (anchor) go(numberOf(anchor), anchor);
  },
  f: () => go(numbers("fall")[0]),
  x: unfolding(box, unfold),
};

document.addEventListener("keydown", (event) => {
  // Where [ and ] are typed with AltGr, it counts as Ctrl and Alt.
  const held = !event.getModifierState("AltGraph") && (event.ctrlKey || event.metaKey || event.altKey);
  if (held || event.isComposing || event.defaultPrevented) return;
  if (event.target.matches?.("input, textarea, select") || document.querySelector("dialog[open]")) return;
  const way = trial.querySelector(`[data-way="${CSS.escape(event.key)}"]`);
  if (way) way.click();
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href*='#event-']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || "switch" in link.dataset || link.pathname !== location.pathname) return;
  const number = numberOf(link.hash);
  if (!Number.isInteger(number)) return;
  event.preventDefault();
  go(number, link.hash.slice(1));
});

select?.addEventListener("change", () => go(Number(select.value)));
let waiting = 0;
addEventListener("scroll", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => {
    const number = reading();
    if (number !== here && document.activeElement?.dataset?.event === undefined) mark(number, false);
  });
}, { passive: true });
addEventListener("wheel", () => document.activeElement?.dataset?.event && document.activeElement.blur(), { passive: true });
addEventListener("hashchange", () => arrive());

function arrive() {
  go(numberOf(location.hash), location.hash.slice(1));
}
/* What is pinned, and on a narrow window the outline, stand above the events: what one is led to begins below them,
   however many lines they have. */
const high = new ResizeObserver((changed) => {
  for (const { target, borderBoxSize } of changed) {
    const name = target.matches("[data-pinned]") ? "--pinned" : "--outline";
    trial.style.setProperty(name, `${borderBoxSize[0].blockSize}px`);
  }
});
for (const each of trial.querySelectorAll("[data-pinned], .outline")) high.observe(each);
/* What keys of the label panel do is to be seen. */
const side = trial.querySelector("[data-side]");
document.addEventListener("keydown", (event) => {
  if (/^[cny]$/.test(event.key) && side.querySelector("[data-label-panel]") && !event.target.matches?.("input, textarea, select")) side.open = true;
}, { capture: true });
copyingLink(trial);
copying(box);
finding(trial.querySelector("[data-find]"), { here: () => here, go, eventAt });
watch();
arrive();
