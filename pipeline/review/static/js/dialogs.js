// Dialogs and short notes. Dialogs are the browser's own: they keep the focus and close with Escape.

import { fill, freshId, h } from "./dom.js";

/**
 * Show a dialog. `build(close)` gives its content; resolves with what `close` was called with, null after Escape.
 * @param {{narrow?: boolean, firm?: boolean}} [look] `firm`: Escape does not close it
 */
export function dialog(title, build, { narrow = false, firm = false } = {}) {
  return new Promise((resolve) => {
    const id = freshId("title");
    const element = h(narrow ? "dialog.narrow" : "dialog", { "aria-labelledby": id });
    const back = document.activeElement;
    let value = null;
    const close = (given = null) => {
      value = given;
      element.close();
    };
    element.addEventListener("cancel", (event) => firm && event.preventDefault());
    element.addEventListener("close", () => {
      element.remove();
      if (back?.isConnected) back.focus();
      resolve(value);
    });
    // A long dialog is read from its top, not from its first control.
    element.append(
      h("h2", { id, tabindex: narrow ? null : "-1", autofocus: !narrow }, title),
      h("div.stack", {}, build(close)),
    );
    document.body.append(element);
    element.showModal();
  });
}

/** Ask for one line; resolves with it, or null. `choices` are offered as buttons. */
export function askText(title, question, { choices = [], action = "OK" } = {}) {
  return dialog(
    title,
    (close) => {
      const id = freshId("answer");
      const input = h("input", { id, type: "text", required: true, maxlength: 500, autofocus: true });
      const go = (event) => {
        event.preventDefault();
        if (input.value.trim()) close(input.value.trim());
        else input.focus();
      };
      return h(
        "form.stack",
        { on: { submit: go } },
        choices.length
          ? h(
              "div.chips",
              {},
              choices.map((choice) =>
                h("button.small", { type: "button", on: { click: () => close(choice) } }, choice),
              ),
            )
          : null,
        h("div.field", {}, h("label", { for: id }, question), input),
        h(
          "div.actions",
          {},
          h("button", { type: "button", on: { click: () => close(null) } }, "Cancel"),
          h("button.primary", { type: "submit" }, action),
        ),
      );
    },
    { narrow: true },
  );
}

/** Ask before something; resolves with whether to go on. */
export async function confirm(title, text, action, { danger = false } = {}) {
  const answer = await dialog(
    title,
    (close) => [
      h("p", {}, text),
      h(
        "div.actions",
        {},
        h("button", { type: "button", on: { click: () => close(false) } }, "Cancel"),
        h(danger ? "button.danger" : "button.primary", { type: "button", on: { click: () => close(true) } }, action),
      ),
    ],
    { narrow: true },
  );
  return answer === true;
}

let place = null;

/** Say something for some seconds, with the way back if there is one. */
export function note(text, { error = false, action = null, run = null, stays = false } = {}) {
  if (!place?.isConnected) {
    place = h("div.toasts", { role: "status", "aria-live": "polite" });
    document.body.append(place);
  }
  const toast = h(error ? "div.toast.error" : "div.toast", {}, text);
  if (action) toast.append(h("button.small", { type: "button", on: { click: () => (toast.remove(), run()) } }, action));
  place.append(toast);
  while (place.children.length > 2) place.firstElementChild.remove();
  setTimeout(() => toast.remove(), stays ? 20_000 : error ? 9000 : 4500);
}

/** Say what went wrong and what to do. */
export const failed = (error) => {
  const text = [error.message, error.hint].filter(Boolean).join(" — ");
  note(text.charAt(0).toUpperCase() + text.slice(1), { error: true });
};

/** Put what is loaded into a place; what failed is said there, with a way to try again. */
export async function load(element, read, show) {
  fill(element, h("p.loading", { role: "status" }, "Loading …"));
  try {
    const loaded = await read();
    fill(element, await show(loaded));
  } catch (error) {
    if (error.code === "signed_out") {
      location.assign(`/sign-in?next=${encodeURIComponent(location.pathname)}`);
      return;
    }
    if (error.code === "password_change_needed") {
      location.assign("/");
      return;
    }
    const text = error.code === "not_found" ? "This is not here, or it is not assigned to you." : error.message;
    fill(
      element,
      h(
        "div.page",
        {},
        h(
          "div.notice.error",
          { role: "alert" },
          h("p", {}, text),
          error.hint ? h("p", {}, error.hint) : null,
          error.more?.waiting ? h("p", {}, `${error.more.waiting} still at work.`) : null,
        ),
        h(
          "p.line.actions",
          {},
          h("button", { type: "button", on: { click: () => load(element, read, show) } }, "Try again"),
          h("a.button", { href: "/" }, "My conversations"),
        ),
      ),
    );
    if (!error.status && error.code === undefined) throw error;
  }
}
