/* What is sent twice would be kept twice, and what is pressed after the first is meant for the next page: from then on
   the form takes nothing. Returns `sent`, whether it was, and `again`, for what did not arrive. */
export function sentOnce(form) {
  let sending = false;

  const lock = (locked) => {
    sending = form.inert = locked;
    form.setAttribute("aria-busy", String(locked));
  };
  form.addEventListener("submit", (event) => {
    if (sending) return event.preventDefault();
    lock(true);
  });
  addEventListener("pageshow", (event) => event.persisted && lock(false));
  return { sent: () => sending, again: () => lock(false) };
}
