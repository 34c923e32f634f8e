// Starts the page: asks who is signed in and shows what the address names.

import * as api from "./api.js";
import { bar } from "./bar.js";
import { load } from "./dialogs.js";
import { fill, h } from "./dom.js";
import { admin } from "./views/admin.js";
import { queue } from "./views/queue.js";
import { batch, batches } from "./views/rate.js";
import { changePassword, signIn } from "./views/signin.js";
import { work } from "./views/work.js";

const place = document.getElementById("app");

/** Address to view; the views without a bar of their own get one. */
const VIEWS = [
  [/^\/$/, "My conversations", queue],
  [/^\/work\/([^/]+)$/, "Review", (user, id) => work(user, id, false), "whole"],
  [/^\/adjudicate\/([^/]+)$/, "Adjudication", (user, id) => work(user, id, true), "whole"],
  [/^\/rate$/, "Ratings", batches],
  [/^\/rate\/([^/]+)$/, "Rating", batch],
  [/^\/admin$/, "Administration", admin],
];

function show(user) {
  const path = location.pathname;
  for (const [pattern, title, view, whole] of VIEWS) {
    const found = pattern.exec(path);
    if (!found) continue;
    document.title = `${title} · rescue review`;
    const inside = h("div");
    fill(place, whole ? inside : [h("a.skip", { href: "#content" }, "Skip to the content"), bar(user), inside]);
    inside.id = "content";
    return load(
      inside,
      () => view(user, ...found.slice(1).map(decodeURIComponent)),
      (element) => element,
    );
  }
  return fill(
    place,
    bar(user),
    h(
      "main.page",
      {},
      h("p.notice.warning", {}, "There is no such page."),
      h("p", {}, h("a", { href: "/" }, "My conversations")),
    ),
  );
}

async function start() {
  try {
    const { user } = await api.session.read();
    if (location.pathname === "/sign-in" && user && !user.must_change_password) return location.replace("/");
    if (!user && location.pathname !== "/sign-in")
      return location.replace(`/sign-in?next=${encodeURIComponent(location.pathname)}`);
    document.title = "Sign in · rescue review";
    if (!user) return fill(place, signIn());
    if (user.must_change_password) return fill(place, changePassword());
    return await show(user);
  } catch (error) {
    if (error.status === undefined) throw error;
    const again = h("button", { type: "button", on: { click: start } }, "Try again");
    return fill(place, h("main.page", {}, h("p.notice.error", { role: "alert" }, error.message), again));
  }
}

start();
