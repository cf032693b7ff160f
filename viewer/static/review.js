/* Review by keyboard: y accepts, with what was changed, c changes, x rejects with a number as the reason, a and b take
   what one of two has said. Also measures how long it takes: pauses count up to a minute, other tabs not at all. */
import { sentOnce } from "./once.js";

const PAUSE = 60_000;
// Milliseconds until a server that is silent counts as gone.
const PATIENCE = 30_000;
const form = document.querySelector("[data-review]");
const source = document.querySelector("[data-source]");
const [accept, reasons, why, reject] = ["accept", "reasons", "why", "reject"].map((each) => form.querySelector(`[data-${each}]`));
const fields = [...form.querySelectorAll(".review-field :is(textarea, select, input)")];
const { sent, again } = sentOnce(form);
const follow = (name) => document.querySelector(`[data-${name}]`);

// Before the page's own keys.
document.addEventListener("keydown", handle, { capture: true });
let going = false;

function handle(event) {
  if (event.metaKey || event.altKey || event.isComposing) return;
  if (sent()) return event.preventDefault(), event.stopImmediatePropagation();
  if (document.querySelector("dialog[open]")) return;
  if (act(event)) event.preventDefault(), event.stopImmediatePropagation();
}

function act(event) {
  const { key, target } = event;
  const writing = target.matches?.("textarea, select, input:not([type=radio])");
  // g and another key go to a page.
  if (going) return (going = false);
  if (key === "Enter" && event.ctrlKey && accept) return (target === why ? reject : accept).click(), true;
  if (event.ctrlKey) return false;
  // A browser would send the form by its first button, which takes what the first of two said.
  if (key === "Enter" && target.name === "right") return true;
  if (key === "Escape" && (writing || reasons?.contains(target))) return target.blur(), true;
  if (key === "Enter" && !event.shiftKey && (target === why || target.matches?.("[data-reason]"))) return reject.click(), true;
  // A key that is held down is no second word.
  if (writing || event.shiftKey || event.repeat) return false;
  if (key === "g") return (going = true), false;
  if (key === "s") return (source.open = !source.open), true;
  if (key === "[" || key === "]") return follow(key === "[" ? "before" : "following")?.click(), true;
  if (!accept) return false;
  if (key === "y") return accept.click(), true;
  if (key === "c") return fields[0].focus(), true;
  if (key === "x") return (reasons.open = true), reasons.querySelector("summary").focus(), true;
  if (key === "n") return (reasons.open = true), why.focus(), true;
  const side = form.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (side) return side.click(), true;
  const reason = reasons.open && form.querySelector(`[data-reason="${CSS.escape(key)}"]`);
  if (!reason) return false;
  reason.checked = true;
  return reject.click(), true;
}

// On a narrow page the open reasons would leave the source alone in sight. They may be open before this runs.
function fieldInSight() {
  const end = form.querySelector(".review-verdict").getBoundingClientRect().top;
  const inSight = (each) => each.getBoundingClientRect().top >= 0 && each.getBoundingClientRect().bottom <= end;
  if (reasons.open && !fields.some(inSight)) form.querySelector(".review-field").scrollIntoView();
}
if (reasons) {
  reasons.addEventListener("toggle", fieldInSight);
  fieldInSight();
}

// The button says what it will do.
if (accept) {
  const differs = (each) =>
    each.type === "radio" ? each.checked !== each.defaultChecked
    : each.options ? [...each.options].some((one) => one.selected !== one.defaultSelected)
    : each.value !== each.defaultValue;
  const say = () => {
    const mends = "mended" in form.dataset || fields.some(differs);
    form.querySelector("[data-accept-said]").textContent = mends ? "Keep the mend" : form.dataset.unchanged;
  };
  form.addEventListener("input", say);
  addEventListener("pageshow", say);
  say();
  // Words that nobody has kept yet: the browser asks before they are gone.
  addEventListener("beforeunload", (event) => {
    const unkept = fields.some(differs) || why.value !== why.defaultValue || form.querySelector(".faulty");
    if (unkept && !sent()) event.preventDefault();
  });
}

let spent = 1000 * (Number(form.elements.seconds.value) || 0);
let last = performance.now();

function count() {
  const now = performance.now();
  spent += Math.min(PAUSE, now - last);
  last = now;
}
for (const each of ["keydown", "pointermove", "pointerdown", "scroll", "input"]) {
  addEventListener(each, count, { capture: true, passive: true });
}
document.addEventListener("visibilitychange", () => (document.hidden ? count() : (last = performance.now())));
// Sent from here, so that where no server answers the page stays, and all that was written with it.
const action = document.createElement("input");
[action.type, action.name] = ["hidden", "action"];
form.append(action);
form.addEventListener("submit", (event) => {
  if (event.defaultPrevented) return;
  event.preventDefault();
  count();
  form.elements.seconds.value = (spent / 1000).toFixed(1);
  action.value = event.submitter.value;
  send(document.activeElement);
});

async function send(focused) {
  const trouble = form.querySelector("[data-trouble]");
  trouble.hidden = true;
  // That the one before was kept says nothing of this one.
  document.querySelector("[data-kept]")?.remove();
  try {
    const answer = await fetch(form.getAttribute("action"), {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      signal: AbortSignal.timeout(PATIENCE),
    });
    // Kept: it leads on. What has faults, or is on a text that changed, kept nothing: the browser shows what is told of
    // that as of any form.
    if (answer.redirected) return location.assign(answer.url);
    if (answer.status === 409 || answer.status === 422) return HTMLFormElement.prototype.submit.call(form);
    const told = new DOMParser().parseFromString(await answer.text(), "text/html");
    const texts = ["h1", "main p"].map((each) => told.querySelector(each)?.textContent.trim().replace(/\.?$/, "."));
    trouble.textContent = `Not kept. ${texts.join(" ")} What you wrote stays here: see to that in another tab, then try again.`;
  } catch {
    trouble.textContent = "Not kept: the server does not answer; try again. What you wrote stays here.";
  }
  again();
  trouble.hidden = false;
  focused?.focus();
}
// A source that is cut off says so: on a phone no bar shows that it scrolls.
const texts = document.querySelector("[data-texts]");
const look = () => {
  document.querySelector("[data-more]").hidden = texts.scrollHeight - texts.clientHeight - texts.scrollTop < 8;
};
for (const each of ["scroll", "load"]) texts.addEventListener(each, look, { capture: true, passive: true });
new ResizeObserver(look).observe(texts);

// In view, where something is to be mended.
document.querySelector(".review-field.faulty textarea")?.focus();
