// Finds a text in the events of a trial: the server says in which, since not all of them are on the page yet. Enter goes
// to the next one, with Shift to the one before; where it stands is marked.
import { reveal } from "./folds.js";

export function finding(box, { here, go, eventAt }) {
  const [field, told] = [box.querySelector("input"), box.querySelector("[data-found]")];
  let [asked, numbers, last] = ["", [], null];
  box.hidden = false;

  async function look() {
    const [address, text] = [new URL(box.dataset.find, location), field.value];
    address.searchParams.set("text", text);
    const reply = await fetch(address, { credentials: "same-origin" });
    if (!reply.ok) throw new Error(`${address}: ${reply.status}`);
    [asked, numbers, last] = [text, await reply.json(), null];
  }

  async function next(back) {
    if (!field.value) return void mark(null);
    try {
      if (field.value !== asked) await look();
    } catch {
      told.textContent = "the viewer does not answer";
      return;
    }
    // Not from where one reads: what was found last may stand further down.
    const from = last ?? here();
    const beyond = back ? numbers.findLast((each) => each < from) : numbers.find((each) => each > from);
    const number = beyond ?? numbers.at(back ? -1 : 0);
    if (number === undefined) {
      mark(null);
    } else {
      last = number;
      await go(number);
      if (!holds(eventAt(number))) await unearth(number).catch(() => {});
      mark(eventAt(number));
      field.focus({ preventScroll: true });
    }
    told.textContent = numbers.length ? `${numbers.indexOf(number) + 1} of ${numbers.length} events` : "nowhere";
  }

  // What is left out in the middle of a long text is shown where the text stands in it.
  async function unearth(number) {
    const address = new URL(box.dataset.events, location);
    address.searchParams.set("from", number);
    address.searchParams.set("text", asked);
    const reply = await fetch(address, { credentials: "same-origin" });
    const made = document.createElement("template");
    made.innerHTML = reply.ok ? await reply.text() : "";
    const fresh = made.content.querySelector("[data-event]");
    if (!fresh) return;
    fresh.classList.add("is-here");
    eventAt(number).replaceWith(fresh);
  }

  const holds = (event) => !event || ranges(event, asked.toLowerCase()).length > 0;

  function mark(event) {
    if (!CSS.highlights) return;
    const found = event ? ranges(event, asked.toLowerCase()) : [];
    CSS.highlights.set("found", new Highlight(...found));
    const element = found[0]?.startContainer.parentElement;
    if (!element) return;
    reveal(element);
    element.scrollIntoView({ block: "center" });
    // The element may be longer than its box, and than the window.
    const pane = element.closest("pre");
    if (pane) pane.scrollTop += place(found[0]) - pane.getBoundingClientRect().top - pane.clientHeight / 2;
    const down = place(found[0]);
    if (down < 0 || down > innerHeight) scrollBy({ top: down - innerHeight / 2, behavior: "instant" });
  }

  const place = (range) => range.getBoundingClientRect().top;

  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return field.blur();
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    next(event.shiftKey);
  });
  field.addEventListener("input", () => (told.textContent = ""));
}

const MOST = 500;

// Not in what the page itself says of it.
function ranges(event, text) {
  const found = [];
  for (const said of event.querySelectorAll(".said")) {
    const texts = document.createTreeWalker(said, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node && found.length < MOST; node = texts.nextNode()) {
      if (node.parentElement.matches(".left-out, annotation")) continue;
      const within = node.data.toLowerCase();
      for (let at = within.indexOf(text); at >= 0 && found.length < MOST; at = within.indexOf(text, at + text.length)) {
        if (at + text.length > node.length) break;
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + text.length);
        found.push(range);
      }
    }
  }
  return found;
}
