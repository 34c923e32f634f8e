// Keys. Single keys work outside of text fields only and can be switched off; the keys that work while typing are ones
// that no browser owns. Nothing here uses a Ctrl, Alt or Command combination of a letter.

import { h, isTyping } from "../dom.js";

const OFF = "rescue-single-keys-off";

/** Keys with a name of their own where they are shown. */
const SHOWN = {
  " ": "Space",
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  "Shift+Enter": "Shift + Enter",
};

export class Shortcuts {
  /** @param {Array<{group: string, keys: string[], name: string, run: Function, typing?: boolean}>} actions */
  constructor(actions) {
    this.actions = actions;
    this.byKey = new Map(actions.flatMap((action) => action.keys.map((key) => [key, action])));
    document.addEventListener("keydown", (event) => this.press(event));
  }

  get singleKeys() {
    return localStorage.getItem(OFF) !== "1";
  }

  set singleKeys(on) {
    if (on) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
  }

  press(event) {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    const action = this.byKey.get(event.key);
    if (!action) return;
    if (!action.typing) {
      if (!this.singleKeys || isTyping(event.target)) return;
      // Space, Enter and the arrows belong to the control that has the focus.
      const control = event.target.closest?.("button, a, summary, input, [role=slider]");
      if (control && (event.key === " " || event.key === "Enter" || event.key.startsWith("Arrow"))) return;
    }
    event.preventDefault();
    action.run(event);
  }

  /** The list of all keys, by group. */
  table() {
    const groups = [...new Set(this.actions.map((action) => action.group))];
    const box = h("input", {
      type: "checkbox",
      id: "single-keys",
      checked: this.singleKeys,
      on: { change: () => (this.singleKeys = box.checked) },
    });
    return [
      ...groups.map((group) =>
        h(
          "section",
          {},
          h("h3", {}, group),
          h(
            "div.shortcuts",
            {},
            this.actions
              .filter((action) => action.group === group)
              .map((action) =>
                h(
                  "div",
                  {},
                  h("span", {}, action.name),
                  h(
                    "span",
                    {},
                    action.keys
                      .map((key) => h("kbd", {}, SHOWN[key] ?? key))
                      .flatMap((key, at) => (at ? [" ", key] : [key])),
                  ),
                ),
              ),
          ),
        ),
      ),
      h("p.line", {}, box, h("label", { for: "single-keys" }, "Single keys work outside of text fields")),
    ];
  }
}
