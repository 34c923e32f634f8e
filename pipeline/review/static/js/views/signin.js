// Signing in, and the first change of a given password.

import * as api from "../api.js";
import { freshId, h } from "../dom.js";

function form(title, intro, fields, action, send) {
  const said = h("p.notice.error", { role: "alert", hidden: true });
  const button = h("button.primary", { type: "submit" }, action);
  const inputs = fields.map(([label, props]) => [
    label,
    h("input", { id: freshId("field"), required: true, ...props }),
  ]);
  const go = async (event) => {
    event.preventDefault();
    button.disabled = true;
    said.hidden = true;
    try {
      await send(...inputs.map(([, input]) => input.value));
    } catch (error) {
      said.hidden = false;
      const wait = error.retryAfter ? ` Try again in ${Math.ceil(error.retryAfter / 60)} min.` : "";
      said.textContent =
        [error.message, error.hint, ...(error.more?.places ?? []).map((one) => one.message)]
          .filter(Boolean)
          .join(" — ") + wait;
      inputs.at(-1)[1].select();
    } finally {
      button.disabled = false;
    }
  };
  return h(
    "main.sign-in",
    {},
    h(
      "form.card.stack",
      { on: { submit: go } },
      h("div", {}, h("h1", {}, title), h("p.hint", {}, intro)),
      inputs.map(([label, input]) => h("div.field", {}, h("label", { for: input.id }, label), input)),
      said,
      h("div", {}, button),
    ),
  );
}

/** Only addresses of this server, so that a link cannot lead away after signing in. */
function next() {
  const wanted = new URLSearchParams(location.search).get("next") ?? "/";
  // The whole address, not its path: `/.//host` is a path here that, on its own, names another host.
  const url = new URL(wanted, location.origin);
  return url.origin === location.origin && wanted.startsWith("/") ? url.href : "/";
}

export const signIn = () =>
  form(
    "rescue review",
    "Recordings here are of people in distress. What you see stays here.",
    [
      ["Name", { type: "text", autocomplete: "username", autofocus: true }],
      ["Password", { type: "password", autocomplete: "current-password" }],
    ],
    "Sign in",
    async (name, password) => {
      await api.session.signIn(name, password);
      location.assign(next());
    },
  );

export const changePassword = () =>
  form(
    "Choose your own password",
    "At least 12 characters. Other windows where you are signed in end.",
    [
      ["Password you were given", { type: "password", autocomplete: "current-password", autofocus: true }],
      ["New password", { type: "password", autocomplete: "new-password", minlength: 12 }],
    ],
    "Change",
    async (current, fresh) => {
      await api.session.password(current, fresh);
      location.assign(next());
    },
  );
