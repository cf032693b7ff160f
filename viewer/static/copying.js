// A button at each code, result and reply copies it as it stands there. It comes where the mouse or the focus is, so that
// a page of a thousand events has one button.

// Without the blanks that make columns straight.
function written(text) {
  const copy = text.cloneNode(true);
  for (const pad of copy.querySelectorAll(".pad")) pad.remove();
  return copy.textContent;
}

export function copying(box) {
  if (!navigator.clipboard) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  let text = null;

  const come = (event) => {
    const near = event.target.closest?.("pre");
    if (!near || near === text) return;
    text = near;
    button.textContent = "Copy";
    text.before(button);
  };
  box.addEventListener("pointerover", come);
  box.addEventListener("focusin", come);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(written(text));
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed here";
    }
    document.getElementById("said").textContent = button.textContent;
  });
}

/* The address of the page as it stands, with the event that one is at. */
export function copyingLink(box) {
  const button = box.querySelector("[data-copy-link]");
  if (!navigator.clipboard || !button) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const said = await navigator.clipboard.writeText(location.href).then(() => "Link copied", () => "Not allowed here");
    button.textContent = document.getElementById("said").textContent = said;
  });
}
