// Folds of a page: all of them at once, by a button and by x. And what a fold hides is opened for who is led to it.

const folds = (box) => [...box.querySelectorAll("details")];

export function unfolding(box, button) {
  const toggle = () => {
    const open = folds(box).some((each) => !each.open);
    for (const each of folds(box)) each.open = open;
    button.setAttribute("aria-pressed", String(open));
  };
  button.hidden = !folds(box).length;
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", toggle);
  return toggle;
}

export function reveal(element) {
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}
