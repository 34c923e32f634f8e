// Where things stand on the screen of one conversation. The elements that change later are left on the workspace.

import { allHistory } from "./history.js";
import { bar } from "../bar.js";
import { confirm, note } from "../dialogs.js";
import { h } from "../dom.js";

/**
 * The whole screen.
 * @param {import("../views/work.js").Workspace} desk
 * @param {object|null} versions those of the annotators, in adjudication
 */
export function build(desk, versions) {
  const title = `${desk.conversation.title || desk.conversation.id}${versions ? " — adjudication" : ""}`;
  desk.saveState = h(
    "button.save-state.quiet.small",
    { type: "button", on: { click: () => (desk.outbox.failed ? desk.trouble.again() : desk.outbox.wake()) } },
    "",
  );
  desk.doneButton = h("button.primary.small", { type: "button", on: { click: () => desk.done() } }, "");
  const tools = [
    h("span", { role: "status", "aria-live": "polite" }, desk.saveState),
    versions
      ? h("button.small", { type: "button", on: { click: () => desk.differences.figures(desk.writable) } }, "Agreement")
      : null,
    h(
      "button.small",
      { type: "button", on: { click: () => allHistory(desk.routes, desk.rows, (id) => desk.select(id)) } },
      "History",
    ),
    h("button.small", { type: "button", on: { click: () => desk.drawer.toggleGuidelines() } }, "Guidelines"),
    h(
      "button.small",
      { type: "button", "aria-keyshortcuts": "?", on: { click: () => desk.help() } },
      "Keys ",
      h("kbd", {}, "?"),
    ),
    desk.loaded.task === "read" ? null : desk.doneButton,
  ].filter(Boolean);
  const beforeSignOut = async () =>
    !desk.outbox.waiting ||
    confirm(
      "Changes wait",
      "Some changes have not reached the server. They stay in desk browser until you sign in again.",
      "Sign out all the same",
    );
  return h(
    "div.workspace",
    {},
    bar(desk.user, { title, extra: tools, beforeSignOut }),
    h("main.work", {}, desk.list.element, stage(desk), timeBox(desk), editorBox(desk)),
    desk.drawer.element,
  );
}

function stage(desk) {
  const { media } = desk.loaded;
  let screen = desk.media;
  if (media?.preparing)
    note(
      "The picture is being prepared for the browser; until then there is the sound. Reload the page in some minutes.",
      { stays: true },
    );
  if (!media) screen = h("p.sound-only", {}, "There is no recording of desk conversation.");
  else if (media.kind === "audio") screen = [h("p.sound-only", {}, "Sound only"), desk.media];
  desk.media.addEventListener("error", () =>
    note("The recording cannot be played. Reload the page; if it stays so, ask the administrator.", { error: true }),
  );
  desk.playButton = h(
    "button",
    { type: "button", title: "Play or pause (Space)", on: { click: () => desk.toggle() } },
    "▶ Play",
  );
  desk.loopButton = h(
    "button",
    {
      type: "button",
      title: "Loop the row (l)",
      "aria-pressed": "false",
      on: { click: () => desk.player.setLoop(!desk.player.loop) },
    },
    "Loop",
  );
  desk.rateText = h("span.hint", { "aria-live": "polite" }, "1×");
  desk.position = h("span.position", {}, "0:00.00");
  const button = (name, title, run) =>
    h("button", { type: "button", title, "aria-label": title, on: { click: run } }, name);
  return h(
    "section.stage",
    { "aria-label": "Recording" },
    h("div.screen", {}, screen),
    h(
      "div.transport",
      { role: "toolbar", "aria-label": "Playback" },
      desk.playButton,
      button("▶ Row", "Play the row (r)", () => desk.playRow()),
      desk.loopButton,
      button("‹", "One frame back (,)", () => desk.player.step(-1)),
      button("›", "One frame on (.)", () => desk.player.step(1)),
      button("−", "Slower (<)", () => desk.player.faster(-1)),
      desk.rateText,
      button("+", "Faster (>)", () => desk.player.faster(1)),
      desk.position,
    ),
  );
}

function timeBox(desk) {
  const tool = (name, key, run) =>
    h(
      "button.small",
      {
        type: "button",
        title: `${name} (${key})`,
        "aria-keyshortcuts": key,
        disabled: !desk.writable,
        on: { click: run },
      },
      name,
    );
  desk.undoButton = tool("Undo", "z", () => desk.undo());
  desk.redoButton = tool("Redo", "y", () => desk.redo());
  const zoom = (name, label, run) =>
    h("button.small", { type: "button", "aria-label": label, title: label, on: { click: run } }, name);
  return h(
    "section.time",
    { "aria-label": "Timeline" },
    h(
      "div.time-tools",
      { role: "toolbar", "aria-label": "Rows on the timeline" },
      tool("Split", "s", () => desk.split()),
      tool("Merge with next", "m", () => desk.merge()),
      tool("Insert", "n", () => desk.insert()),
      tool("Discard", "x", () => desk.discard()),
      h("span.gap"),
      desk.undoButton,
      desk.redoButton,
      h("span.grow"),
      zoom("−", "Zoom out (-)", () => desk.timeline.zoom(1 / 1.5)),
      zoom("+", "Zoom in (+)", () => desk.timeline.zoom(1.5)),
      zoom("All", "Whole recording (0)", () => desk.timeline.fit()),
    ),
    desk.timeline.element,
  );
}

function editorBox(desk) {
  desk.head = h("div.editor-head");
  desk.verifyButton = h(
    "button.primary",
    {
      type: "button",
      title: "Verified, on to the next row (v; F8 while typing)",
      on: { click: () => desk.verify() },
    },
    "Verify and next",
  );
  desk.discardButton = h("button", { type: "button", on: { click: () => desk.discard() } }, "Discard …");
  desk.historyButton = h(
    "button",
    {
      type: "button",
      "aria-label": "History of the row",
      title: "History of the row (h)",
      on: { click: () => desk.rowHistory() },
    },
    "History",
  );
  const foot = h("div.editor-foot", {}, desk.verifyButton, desk.discardButton, h("span.grow"), desk.historyButton);
  if (desk.differences) desk.editor.element.prepend(desk.differences.element);
  return h("section.editor", { "aria-label": "Row" }, desk.head, desk.editor.element, foot);
}
