// Keys of who is faster than the page: its scripts come when all of it is parsed, which takes a moment where it is long
// or the machine is busy. Until then keys are kept, then pressed again; what somebody types into is left alone.
{
  const FIELDS = "input, textarea, select, [contenteditable]";
  const kept = [];

  const keep = (event) => {
    const plain = event.key === "Enter" || (event.key.length === 1 && event.key !== " ");
    if (!plain || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.activeElement && document.activeElement !== document.body) return;
    kept.push(event.key);
    event.preventDefault();
    event.stopImmediatePropagation();
  };

  const press = (key) => {
    const at = document.activeElement ?? document.body;
    if (at.matches(FIELDS) || document.querySelector("dialog[open]")) return;
    const unheeded = at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    // Browsers do nothing of their own after a key that a script presses.
    if (unheeded && key === "Enter" && at.matches("a, button, summary")) at.click();
  };

  addEventListener("keydown", keep, { capture: true });
  // By then the scripts of the page have run, which wait for its end.
  addEventListener("DOMContentLoaded", async () => {
    removeEventListener("keydown", keep, { capture: true });
    for (const key of kept) {
      press(key);
      await new Promise((resume) => setTimeout(resume));
    }
  });
}
