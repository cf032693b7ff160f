/* Searches the texts that the scripts before this one have put into `toolablate`. All words have to stand in a page,
   anywhere within other words, whatever their case and width: so it needs to know nothing of where words end. */

const MOST = 50;
const QUOTES = 3;
const AROUND = 80;

const form = document.querySelector("[data-bundle-find]");
const field = form.querySelector("input");
const told = document.querySelector("[data-found]");
const list = document.querySelector("[data-hits]");
const fold = (text) => text.normalize("NFKC").toLowerCase();
const pages = (self.toolablate ?? []).map(([file, name, ending, texts]) => ({
  file, name, ending,
  texts: [[null, name], ...texts].map(([event, text]) => ({ event, text, folded: fold(text) })),
}));

/* Words and "phrases". */
const wordsOf = (query) => [...query.matchAll(/"([^"]+)"|(\S+)/g)].map(([, phrase, word]) => fold(phrase ?? word));

function search(query) {
  const words = wordsOf(query);
  const holds = (page) => words.every((word) => page.texts.some((each) => each.folded.includes(word)));
  const found = words.length ? pages.filter(holds) : [];
  told.textContent = words.length ? `${found.length.toLocaleString("en")} of ${pages.length.toLocaleString("en")} pages${found.length > MOST ? `; the first ${MOST} are shown` : ""}` : "";
  list.replaceChildren(...found.slice(0, MOST).map((page) => hit(page, words)));
}

function hit(page, words) {
  const item = element("li", "");
  item.dataset.step = "";
  const head = element("p", "found-trial");
  const link = element("a", "", page.name);
  link.href = page.file;
  link.dataset.open = "";
  head.append(link, page.ending ? ` · ${page.ending}` : "");
  item.append(head);
  const places = page.texts.slice(1).flatMap((each) => words.filter((word) => each.folded.includes(word)).slice(0, 1).map((word) => [each, word]));
  for (const [each, word] of places.slice(0, QUOTES)) item.append(quote(page, each, word));
  return item;
}

function quote(page, { event, text, folded }, word) {
  // Where folding has changed the length, places in one are none in the other.
  const shown = text.length === folded.length ? text : folded;
  const at = folded.indexOf(word);
  const line = element("p", "found-quote");
  const link = element("a", "small", event === null ? "question" : `event ${event}`);
  link.href = event === null ? page.file : `${page.file}#event-${event}`;
  const said = element("q", "");
  said.dir = "auto";
  said.append(
    (at > AROUND ? "…" : "") + shown.slice(Math.max(0, at - AROUND), at),
    element("mark", "", shown.slice(at, at + word.length)),
    shown.slice(at + word.length, at + word.length + AROUND) + (at + word.length + AROUND < shown.length ? "…" : ""),
  );
  line.append(link, " ", said);
  return line;
}

function element(name, className, text = "") {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text;
  return made;
}

function asked() {
  field.value = new URLSearchParams(location.hash.slice(1)).get("q") ?? "";
  search(field.value);
}

form.hidden = false;
field.addEventListener("input", () => {
  history.replaceState(history.state, "", `#${new URLSearchParams({ q: field.value })}`);
  search(field.value);
});
addEventListener("hashchange", asked);
asked();
