/* Draws the boxes that the forms of a page have, and changes them by pointer, finger and key. The forms' texts are all
   there is: what is drawn is made of them, and they are what is sent. */

// In points.
const STEP = 2;
const LEAST = 4;
const PATIENCE = 60_000;
const list = document.querySelector("[data-list]");
const modes = document.querySelector("[data-modes]");
const pages = [...document.querySelectorAll("[data-page]")].map((figure) => ({
  number: Number(figure.dataset.page),
  width: Number(figure.dataset.width),
  height: Number(figure.dataset.height),
  sheet: figure.querySelector(".regions-sheet"),
  svg: figure.querySelector("svg"),
}));
const forms = () => [...list.querySelectorAll("[data-region]")];
const fresh = () => list.querySelector("[data-new]");
// The form that is chosen, and of it one box or mask by its place, if any.
let form = null;
let part = null;

// Texts and boxes.

const field = (of, kind) => of.querySelector(`[data-${kind}]`);
function read(of, kind) {
  const lines = field(of, kind).value.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  return lines.filter((line) => line.length === 5 && line.every(Number.isFinite)).map(([page, ...box]) => ({ page, box }));
}
function write(of, kind, parts) {
  const round = (side) => Math.round(side * 10) / 10;
  field(of, kind).value = parts.map(({ page, box }) => [page, ...box.map(round)].join(" ")).join("\n");
  draw();
}
const differs = (of) => ["boxes", "masks"].some((kind) => field(of, kind).value !== field(of, kind).defaultValue);

// What is drawn.

function made(name, values) {
  const found = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(values)) found.setAttribute(key, value);
  return found;
}

function draw() {
  for (const page of pages) {
    const drawn = [];
    for (const of of forms()) {
      for (const kind of ["boxes", "masks"]) {
        read(of, kind).forEach((each, at) => {
          if (each.page !== page.number) return;
          const [x, y, right, bottom] = each.box;
          const chosen = of === form && part?.kind === kind && part.at === at;
          const classes = [kind === "masks" ? "mask" : "", of === form && (chosen || !part) ? "chosen" : ""];
          const rect = made("rect", { x, y, width: Math.max(0, right - x), height: Math.max(0, bottom - y), class: classes.join(" ") });
          rect.dataset.state = of.dataset.state ?? "new";
          rect.owner = { of, kind, at };
          drawn.push(rect);
          if (chosen) {
            const corner = made("circle", { cx: right, cy: bottom, r: (7 * page.width) / (page.svg.clientWidth || page.width) });
            corner.owner = { of, kind, at, corner: true };
            drawn.push(corner);
          }
        });
      }
    }
    page.svg.replaceChildren(...drawn);
  }
  for (const each of forms()) each.classList.toggle("chosen", each === form);
}

function choose(of, which = null) {
  form = of;
  part = which;
  draw();
  document.getElementById("said").textContent = of ? of.getAttribute("aria-label") : "";
}

// What drawing does.

const mode = () => modes.querySelector(":checked").value;
function setMode(value) {
  modes.querySelector(`[value="${value}"]`).checked = true;
  show();
}
function show() {
  for (const page of pages) page.sheet.toggleAttribute("data-draws", mode() !== "choose");
}

function add(page, box) {
  const value = mode();
  const target = value === "region" ? fresh() : (form ?? fresh());
  const kind = value === "mask" ? "masks" : "boxes";
  const before = value === "region" ? [] : read(target, kind);
  if (value === "region") field(target, "masks").value = "";
  form = target;
  part = { kind, at: before.length };
  write(target, kind, [...before, { page: page.number, box }]);
  setMode("choose");
  choose(form, part);
}

function change(of, kind, at, box) {
  const parts = read(of, kind);
  const { width, height } = pages.find((each) => each.number === parts[at].page) ?? { width: Infinity, height: Infinity };
  const [left, top, right, bottom] = box;
  if (left < 0 || top < 0 || right > width || bottom > height || right - left < 1 || bottom - top < 1) return;
  parts[at] = { ...parts[at], box };
  write(of, kind, parts);
}

// Pointers: a mouse, a pen, a finger.

let drag = null;
function point(page, event) {
  const seen = page.svg.getBoundingClientRect();
  const within = (value, most) => Math.min(Math.max(value, 0), most);
  return [
    within(((event.clientX - seen.left) / seen.width) * page.width, page.width),
    within(((event.clientY - seen.top) / seen.height) * page.height, page.height),
  ];
}

for (const page of pages) {
  page.svg.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const start = point(page, event);
    const owner = event.target.owner;
    if (mode() !== "choose") {
      const shape = made("rect", { class: mode() === "mask" ? "mask" : "", width: 0, height: 0 });
      page.svg.append(shape);
      drag = { page, start, shape };
    } else if (owner) {
      const already = owner.of === form && part?.kind === owner.kind && part.at === owner.at;
      choose(owner.of, { kind: owner.kind, at: owner.at });
      reveal(owner.of);
      // By finger a box is moved once it is chosen: until then the page is scrolled.
      if (already || event.pointerType === "mouse") {
        drag = { page, start, owner, box: read(owner.of, owner.kind)[owner.at].box };
      }
    } else {
      choose(null);
    }
    if (drag) {
      page.svg.setPointerCapture(event.pointerId);
      event.preventDefault();
      page.svg.focus({ preventScroll: true });
    }
  });
  page.svg.addEventListener("pointermove", (event) => {
    if (drag?.page !== page) return;
    const [x, y] = point(page, event);
    const [fromX, fromY] = drag.start;
    if (drag.shape) {
      const values = { x: Math.min(x, fromX), y: Math.min(y, fromY), width: Math.abs(x - fromX), height: Math.abs(y - fromY) };
      for (const [key, value] of Object.entries(values)) drag.shape.setAttribute(key, value);
      return;
    }
    const { of, kind, at, corner } = drag.owner;
    const [left, top, right, bottom] = drag.box;
    const [across, down] = [x - fromX, y - fromY];
    change(of, kind, at, corner ? [left, top, right + across, bottom + down] : [left + across, top + down, right + across, bottom + down]);
  });
  page.svg.addEventListener("pointerup", (event) => {
    if (drag?.page !== page) return;
    const { shape, start } = drag;
    drag = null;
    if (!shape) return;
    shape.remove();
    const [x, y] = point(page, event);
    const box = [Math.min(x, start[0]), Math.min(y, start[1]), Math.max(x, start[0]), Math.max(y, start[1])];
    if (box[2] - box[0] > LEAST && box[3] - box[1] > LEAST) add(page, box);
  });
  page.svg.addEventListener("pointercancel", () => {
    drag?.shape?.remove();
    drag = null;
  });
}

// Keys, before the page's own.

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.target.matches?.("textarea, select")) return;
  // What is typed while a region is being kept is meant for what comes after it.
  const { key, shiftKey, repeat, target } = event;
  if (sending ? typed.push({ key, shiftKey, repeat, target }) : act(event)) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, { capture: true });

const MODES = { 1: "choose", 2: "region", 3: "box", 4: "mask" };
const ARROWS = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };

function act({ key, shiftKey, repeat, target }) {
  if (key in ARROWS) return !target.matches?.("input") && arrow(ARROWS[key], shiftKey);
  if (repeat || shiftKey) return false;
  if (key in MODES) return setMode(MODES[key]), true;
  const link = { "[": "before", "]": "following", p: "proposed" }[key];
  if (link) return document.querySelector(`[data-${link}]`)?.click(), true;
  if (key === "n") return next(), true;
  if (key === "Escape") return choose(null), true;
  if (key === "y" || key === "x") return press(key === "y" ? "accept" : "delete"), true;
  const page = pages.find((each) => each.svg === target);
  if (key === "Enter" && page && mode() !== "choose") return add(page, middle(page)), true;
  return false;
}

// Where a new box begins its way by keys.
function middle({ number, width, height }) {
  const last = form && read(form, "boxes").find((each) => each.page === number);
  if (last && mode() === "mask") return [last.box[2] - 30, last.box[1], last.box[2], last.box[1] + 14];
  return [width * 0.15, height * 0.4, width * 0.85, height * 0.5];
}

function arrow([across, down], corner) {
  if (!form || form.contains(document.activeElement) === false && document.activeElement.closest?.("button, a")) return false;
  const { kind, at } = part ?? { kind: "boxes", at: 0 };
  const there = read(form, kind)[at];
  if (!there) return false;
  part = { kind, at };
  const [left, top, right, bottom] = there.box;
  change(form, kind, at, corner ? [left, top, right + across, bottom + down] : [left + across, top + down, right + across, bottom + down]);
  return true;
}

function next() {
  const all = forms().filter((each) => each !== fresh());
  if (!all.length) return;
  const found = all[(all.indexOf(form) + 1) % all.length];
  choose(found);
  found.focus({ preventScroll: true });
  reveal(found);
  const rect = document.querySelector(".regions-sheet rect.chosen");
  const { top, bottom } = rect?.getBoundingClientRect() ?? { top: innerHeight / 2, bottom: innerHeight / 2 };
  if (top < 120 || bottom > innerHeight) rect.scrollIntoView({ block: "center" });
}

// In its list alone: the page stays under the pointer.
function reveal(of) {
  const [seen, around] = [of.getBoundingClientRect(), list.getBoundingClientRect()];
  if (seen.top < around.top || seen.bottom > around.bottom) list.scrollTop += seen.top - around.top;
}

function press(name) {
  form?.querySelector(`[data-${name}]`)?.click();
}
for (const each of modes.querySelectorAll("[data-do]")) each.addEventListener("click", () => press(each.dataset.do));
modes.addEventListener("change", show);

// What was kept takes the place of the forms; where no server answers, all stays as it was drawn.

let sending = false;
const typed = [];
list.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!sending) send(event.target, event.submitter);
});

async function send(of, button) {
  sending = true;
  const trouble = list.querySelector("[data-trouble]");
  trouble.hidden = true;
  const others = forms().filter((each) => each !== of && differs(each));
  const body = new URLSearchParams(new FormData(of, button));
  const place = forms().indexOf(of);
  list.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(location.pathname, { method: "POST", body, signal: AbortSignal.timeout(PATIENCE) });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    const forms_ = found.querySelector("[data-list]");
    if (!forms_ || !(answer.ok || answer.status === 422)) {
      throw new Error(["h1", "main p"].map((each) => found.querySelector(each)?.textContent.trim()).join(". "));
    }
    if (!answer.redirected) throw new Error(forms_.querySelector("[data-trouble]").textContent.replace("Not kept. ", ""));
    list.replaceChildren(...forms_.childNodes);
    // What was drawn of other regions is not kept yet, and stays.
    for (const each of others) {
      const same = forms().find((one) => (one.id || "new") === (each.id || "new"));
      for (const kind of same ? ["boxes", "masks"] : []) field(same, kind).value = field(each, kind).value;
      // It was drawn on what was seen then.
      if (same?.elements.seen) same.elements.seen.value = each.elements.seen.value;
    }
    const after = new URL(answer.url).searchParams.get("after");
    const kept = after && document.getElementById(`r-${after}`);
    choose(kept || (forms()[place] === fresh() ? null : (forms()[place] ?? null)));
    (form ?? list).focus?.({ preventScroll: true });
    document.getElementById("said").textContent = kept ? "Kept." : "Deleted.";
  } catch (error) {
    trouble.textContent = `Not kept: ${error instanceof TypeError || error.name === "TimeoutError" ? "the server does not answer; try again." : error.message} What you drew stays here.`;
    trouble.hidden = false;
    trouble.scrollIntoView({ block: "nearest" });
    typed.length = 0;
  }
  sending = false;
  list.removeAttribute("aria-busy");
  while (typed.length && !sending) act(typed.shift());
}

list.addEventListener("input", draw);
list.addEventListener("focusin", (event) => {
  const of = event.target.closest("[data-region]");
  if (of && of !== form) choose(of);
});
addEventListener("beforeunload", (event) => forms().some(differs) && event.preventDefault());
new ResizeObserver(draw).observe(pages[0].svg);
modes.hidden = false;
show();
choose(document.querySelector(location.hash.startsWith("#r-") ? location.hash : "[data-region][data-state=proposed]"));
