/* Labels by keyboard: y confirms, c opens the choice, n goes to the note, w withdraws, Enter saves, Esc leaves. */

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
  let sending = false;
  const keys = new Map([...form.querySelectorAll("input[data-key]")].map((each) => [each.dataset.key, each]));

  const show = (shown) => {
    choice.hidden = !shown;
    open.setAttribute("aria-expanded", String(shown));
    if (shown) (form.querySelector("[name=mechanism]:checked") ?? keys.get("1")).focus();
  };
  const fit = () => {
    distractions.hidden = form.querySelector("[name=mechanism]:checked")?.value !== "retrieval_distraction";
  };

  open.hidden = close.hidden = false;
  show(false);
  fit();
  open.addEventListener("click", () => show(choice.hidden));
  close.addEventListener("click", () => (show(false), open.focus()));
  form.addEventListener("change", fit);
  remember(form.querySelector("[data-onward]"));

  // What is sent twice would be two labels, and what is said after the first is meant for the next page.
  form.addEventListener("submit", (event) => {
    if (sending) return event.preventDefault();
    lock(true);
  });
  addEventListener("pageshow", (event) => event.persisted && lock(false));

  function lock(locked) {
    sending = form.inert = locked;
    form.setAttribute("aria-busy", String(locked));
  }

  // Before the page's own keys, of which some choose a mechanism while the choice is open.
  document.addEventListener("keydown", handle, { capture: true });

  function handle(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (sending) return event.preventDefault(), event.stopImmediatePropagation();
    if (document.querySelector("dialog[open]")) return;
    const writing = event.target.matches?.("textarea, select, input:not([type=radio], [type=checkbox])");
    if (act(event.key, writing, event)) event.preventDefault();
  }

  function act(key, writing, event) {
    const inside = form.contains(event.target);
    if (key === "Escape" && !choice.hidden) return show(false), open.focus(), true;
    if (key === "Enter" && inside && event.target === note && !event.shiftKey) return save.click(), true;
    if (key === "Enter" && inside && event.target.matches("input")) return save.click(), true;
    if (writing || event.shiftKey) return false;
    // Where there is nothing to confirm, the panel says why.
    if (key === "y") return confirm ? confirm.click() : form.parentElement.scrollIntoView({ block: "nearest" }), true;
    if (key === "w" && withdraw) return withdraw.click(), true;
    if (key === "c") return show(true), true;
    if (key === "n") return show(true), note.focus(), true;
    const chosen = choice.hidden ? undefined : keys.get(key);
    if (!chosen || (chosen.name === "distraction" && distractions.hidden)) return false;
    chosen.checked = true;
    chosen.focus();
    fit();
    return true;
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
