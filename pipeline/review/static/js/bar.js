// The bar on top of every page.

import * as api from "./api.js";
import { failed } from "./dialogs.js";
import { h } from "./dom.js";

const PLACES = [
  ["/", "My conversations", () => true],
  ["/rate", "Ratings", () => true],
  ["/admin", "Administration", (user) => user.role === "administrator"],
];

/**
 * @param {object} user
 * @param {{title?: string, extra?: Node[], beforeSignOut?: () => Promise<boolean>}} [content]
 *   a title takes the place of the navigation
 */
export function bar(user, { title = null, extra = [], beforeSignOut = async () => true } = {}) {
  const here = location.pathname;
  const signOut = async () => {
    if (!(await beforeSignOut())) return;
    try {
      await api.session.signOut();
      location.assign("/sign-in");
    } catch (error) {
      if (error.code === "signed_out") location.assign("/sign-in");
      else failed(error);
    }
  };
  const current = (path) => here === path || (path !== "/" && here.startsWith(`${path}/`));
  const places = PLACES.filter(([, , may]) => may(user)).map(([path, name]) =>
    h("a", { href: path, "aria-current": current(path) ? "page" : null }, name),
  );
  return h(
    "header.bar",
    {},
    title
      ? h("a.button.small", { href: "/", "aria-label": "Back to my conversations" }, "← Back")
      : h("a.brand", { href: "/" }, "rescue review"),
    title ? h("h1.grow", { title }, title) : [h("nav", { "aria-label": "Pages" }, places), h("span.grow")],
    extra,
    title ? null : h("span.hint", {}, `${user.name} (${user.role})`),
    title ? null : h("button.small", { type: "button", on: { click: signOut } }, "Sign out"),
  );
}
