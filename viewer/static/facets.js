// Dropdowns of a filter form: one is open at a time, and what is elsewhere closes it.

const open = () => document.querySelectorAll("details[data-facet][open]");

export function closeFacets() {
  document.addEventListener("click", (event) => {
    for (const facet of open()) if (!facet.contains(event.target)) facet.open = false;
  });
  document.addEventListener("focusin", (event) => {
    for (const facet of open()) if (!facet.contains(event.target)) facet.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const facet of open()) {
      facet.open = false;
      facet.querySelector("summary").focus();
    }
  });
}
