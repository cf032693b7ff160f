// Asks whether there is something new, while somebody looks, and puts it where the old stood.
// A page says <main data-live data-version="..."> where it wants that; all show what the process behind has to say.

const EVERY = 2000;
const SELDOM = 10000;
const SLOWEST = 30000;
const STILL = 1500;
const READ = "h2[id], figure[id], [data-step]";

let pause = EVERY;
let pressed = -STILL;

export function watch() {
  if (!document.getElementById("progress")) return;
  addEventListener("keydown", (event) => (pressed = event.timeStamp), { capture: true, passive: true });
  setTimeout(look, document.querySelector("main[data-live]") ? EVERY : 0);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) look();
  });
}

async function look() {
  if (document.hidden) return;
  clearTimeout(look.next);
  try {
    const answer = await fetch(document.querySelector("main[data-live]")?.dataset.live || "/live", { headers: { accept: "application/json" } });
    if (answer.ok) await show(await answer.json());
    pause = answer.ok ? EVERY : Math.min(SLOWEST, pause * 2);
  } catch {
    // The viewer was stopped, or is being started again.
    pause = Math.min(SLOWEST, pause * 2);
  }
  look.next = setTimeout(look, document.querySelector("main[data-live]") ? pause : Math.max(pause, SELDOM));
}

async function show(news) {
  tell("progress", news.progress);
  tell("trouble", news.trouble);
  tell("running-link", news.running ? `${news.running.toLocaleString("en")} running` : "");
  const main = document.querySelector("main[data-live]");
  if (!main) return;
  if (String(news.version) === main.dataset.version || busy(main)) return;
  const answer = await fetch(location.href);
  if (!answer.ok || busy(main)) return;
  // A trial that has ended is on a page of its own.
  if (answer.redirected) return location.replace(answer.url);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector("main[data-live]");
  if (!fresh) return;
  swap(main, fresh);
  const ended = `${news.ended.toLocaleString("en")} of ${news.planned.toLocaleString("en")} trials ended`;
  document.getElementById("said").textContent = news.ended < news.planned ? ended : "The figures are up to date.";
}

function tell(name, text) {
  const place = document.getElementById(name);
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}

// Nothing moves under the hands of who is filling in a form, or between two keys: the row that one has come to may be
// none of those that come.
function busy(main) {
  const at = document.activeElement;
  if (performance.now() - pressed < STILL) return true;
  return Boolean(main.querySelector("details[data-facet][open]")) || (main.contains(at) && at.matches("input, select, textarea"));
}

function swap(main, fresh) {
  const open = new Set([...main.querySelectorAll("details[open]")].map(place));
  const scrolled = [...main.querySelectorAll(".scroll")].map((box) => [place(box), box.scrollLeft, box.scrollTop]);
  const focused = main.contains(document.activeElement) ? document.activeElement : null;
  const focus = focused && place(focused);
  const passed = passedRows(main);
  const top = topmost(main);
  main.replaceChildren(...document.importNode(fresh, true).childNodes);
  main.dataset.version = fresh.dataset.version;
  for (const each of main.querySelectorAll("details")) each.open = open.has(place(each)) || each.open;
  const boxes = new Map([...main.querySelectorAll(".scroll")].map((box) => [place(box), box]));
  for (const [name, left, top] of scrolled) boxes.get(name)?.scrollTo({ left, top, behavior: "instant" });
  markRow(main, passed);
  if (focused) find(main, focused.localName, focus)?.focus({ preventScroll: true });
  const again = top.name && find(main, READ, top.name);
  scrollTo({ top: again ? scrollY + again.getBoundingClientRect().top - top.at : top.down, behavior: "instant" });
}

// The rows up to the one that was chosen by keyboard, which comes last: null where it is gone already.
function passedRows(main) {
  const rows = [...main.querySelectorAll("[data-step]")];
  const passed = rows.slice(0, rows.findIndex((each) => each.matches(".here, .was-here")) + 1);
  return [...passed.map(place), ...(passed.at(-1)?.matches(".was-here") ? [null] : [])];
}

// Where that row is gone, j and k go on from where it was.
function markRow(main, passed) {
  const rows = new Map([...main.querySelectorAll("[data-step]")].map((each) => [place(each), each]));
  const last = passed.findLast((name) => rows.has(name));
  rows.get(last)?.classList.add(last === passed.at(-1) ? "here" : "was-here");
}

// What is read just now: the last thing that begins above the window's middle; it stays where it is, whatever comes
// before it.
function topmost(main) {
  const things = [...main.querySelectorAll(READ)];
  const read = scrollY > 0 && things.findLast((each) => each.getBoundingClientRect().top < innerHeight / 2);
  return read ? { name: place(read), at: read.getBoundingClientRect().top, down: scrollY } : { down: scrollY };
}

// What an element is the same as in the page that comes: by its id, what it leads to, or where it stands.
function place(element) {
  if (element.id) return `#${element.id}`;
  const within = element.closest("figure[id]")?.id ?? "";
  if (element.matches("a[href]")) return `${within} href ${element.getAttribute("href")}`;
  if (element.matches(".scroll[aria-label]")) return `${within} box ${element.getAttribute("aria-label")}`;
  const row = element.closest("[data-step]");
  if (row === element) return `row ${row.querySelector("[data-open]")?.getAttribute("href")}`;
  const alike = [...element.closest("main").querySelectorAll(element.localName)];
  return `${element.localName} ${alike.indexOf(element)}`;
}

function find(main, kind, name) {
  return [...main.querySelectorAll(kind)].find((each) => place(each) === name);
}
