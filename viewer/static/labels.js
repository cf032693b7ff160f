/* Labels by keyboard: y confirms, c opens the choice, n goes to the note, m quotes what is selected, w withdraws, Enter
   saves, Esc leaves. Of who labels one after the other, a key of a code saves and goes on, unless c came before it. */

import { sentOnce } from "./once.js";

const form = document.querySelector("[data-label-panel]");
if (form) begin(form);

function begin(form) {
  const choice = form.querySelector("[data-choice]");
  const [open, close, confirm, withdraw] = ["open-choice", "close-choice", "confirm", "withdraw"].map((each) =>
    form.querySelector(`[data-${each}]`),
  );
  const save = form.querySelector('button.primary[value="save"]');
  const note = form.querySelector("textarea[name=note]");
  const distractions = form.querySelector("[data-distractions]");
  const [code, codes] = [form.querySelector("[data-code]"), "[data-code]:checked"];
  const several = code.type === "checkbox";
  let [going, direct] = [false, "oneKey" in form.dataset];
  const keys = new Map([...form.querySelectorAll("input[data-key]")].map((each) => [each.dataset.key, each]));

  const show = (shown) => {
    choice.hidden = !shown;
    open.setAttribute("aria-expanded", String(shown));
  };
  // The panel may stand in a part of the page that is folded.
  const unfold = () => {
    for (let part = form.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  };
  const choose = () => {
    direct = false;
    unfold();
    show(true);
    (form.querySelector(codes) ?? code).focus();
  };
  const fit = () => {
    if (distractions) distractions.hidden = form.querySelector("[name=mechanism]:checked")?.value !== "retrieval_distraction";
  };

  open.hidden = close.hidden = false;
  for (const each of form.querySelectorAll("[data-mark], [data-one-key-told]")) each.hidden = false;
  show(direct);
  if (direct) unfold();
  fit();
  open.addEventListener("click", () => (choice.hidden || direct ? choose() : show(false)));
  close.addEventListener("click", () => (show(false), open.focus()));
  form.addEventListener("change", fit);
  remember(form.querySelector("[data-onward]"));
  const { sent } = sentOnce(form);

  // Before the page's own keys, of which some choose a mechanism while the choice is open.
  document.addEventListener("keydown", handle, { capture: true });

  function handle(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (sent()) return event.preventDefault(), event.stopImmediatePropagation();
    if (document.querySelector("dialog[open]")) return;
    const writing = event.target.matches?.("textarea, select, input:not([type=radio], [type=checkbox])");
    if (act(event.key, writing, event)) event.preventDefault();
  }

  function act(key, writing, event) {
    const inside = form.contains(event.target);
    // g and another key go to a page.
    if (going) return (going = false);
    if (key === "Escape" && !choice.hidden) return (direct = false), show(false), open.focus(), true;
    if (key === "Enter" && inside && event.target === note && !event.shiftKey) return save.click(), true;
    if (key === "Enter" && inside && event.target.matches("input")) return save.click(), true;
    if (writing || event.shiftKey) return false;
    // Where there is nothing to confirm, the panel says why.
    if (key === "y" && !confirm) return unfold(), form.parentElement.scrollIntoView({ block: "nearest" }), true;
    if (key === "y") return confirm.click(), true;
    if (key === "w" && withdraw) return withdraw.click(), true;
    if (key === "c") return choose(), true;
    if (key === "n") return choose(), note.focus(), true;
    if (key === "m") return quote(), true;
    if (key === "g") return (going = true), false;
    const chosen = choice.hidden ? undefined : keys.get(key);
    if (!chosen || (chosen.name === "distraction" && distractions.hidden)) return false;
    chosen.checked = !several || !chosen.checked;
    chosen.focus();
    fit();
    if (direct && !several) save.click();
    return true;
  }

  /* The selected text and the event that it stands in. */
  function quote() {
    const selection = getSelection();
    const node = selection.anchorNode;
    const event = (node?.nodeType === Node.TEXT_NODE ? node.parentElement : node)?.closest?.("[data-event]");
    const text = selection.toString().trim();
    choose();
    if (!event || !text) return form.elements.quote.focus();
    const number = event.dataset.event;
    const at = form.elements.turned_at;
    if (![...at.options].some((each) => each.value === number)) at.add(new Option(number, number));
    at.value = number;
    form.elements.quote.value = text.slice(0, 2000);
  }
}

/* Whether to go on to the next trial is asked once. */
function remember(onward) {
  if (!onward) return;
  try {
    onward.checked = localStorage.getItem("toolablate-onward") === "yes";
    onward.addEventListener("change", () => localStorage.setItem("toolablate-onward", onward.checked ? "yes" : ""));
  } catch {
    /* Where a browser keeps nothing, it is asked each time. */
  }
}
