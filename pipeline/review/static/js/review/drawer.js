// The side panel: guidelines and the definitions of the labels, beside the form that is being filled in.

import * as api from "../api.js";
import { load } from "../dialogs.js";
import { fill, h } from "../dom.js";

const SETS = {
  relation_patterns: "Relation patterns",
  support_strategies: "Support strategies",
  utterance_types: "Types of utterance",
};
const ALLOWED = new Set(
  "H1 H2 H3 H4 P UL OL LI TABLE THEAD TBODY TR TH TD CODE PRE STRONG EM B I BR BLOCKQUOTE HR".split(" "),
);

/** Copy markup element by element: only elements of text, without any attribute. */
export function plainCopy(html) {
  const copy = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE) return null;
    const inside = [...node.childNodes].map(copy);
    if (!ALLOWED.has(node.tagName)) return ["SCRIPT", "STYLE", "TEMPLATE"].includes(node.tagName) ? null : inside;
    return h(node.tagName.toLowerCase(), {}, inside);
  };
  return [...new DOMParser().parseFromString(html, "text/html").body.childNodes].map(copy);
}

export class Drawer {
  constructor(labels) {
    this.labels = labels;
    this.title = h("h2", {}, "");
    this.body = h("div.drawer-body", { tabindex: "0", role: "region", "aria-label": "Text of the side panel" });
    const close = h("button.small", { type: "button", on: { click: () => this.close() } }, "Close");
    this.element = h(
      "aside.drawer",
      { hidden: true, "aria-label": "Guidelines and definitions" },
      h("header", {}, this.title, close),
      this.body,
    );
    this.element.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
    this.shown = null;
  }

  get open() {
    return !this.element.hidden;
  }

  show(what, title) {
    if (!this.open) this.back = document.activeElement;
    this.shown = what;
    this.element.hidden = false;
    fill(this.title, title);
    this.body.scrollTop = 0;
  }

  close() {
    this.element.hidden = true;
    if (this.back?.isConnected) this.back.focus();
  }

  toggleGuidelines() {
    if (this.open && this.shown === "guidelines") return this.close();
    this.show("guidelines", "Annotation guidelines");
    this.body.focus();
    return load(this.body, api.guidelines, ({ html }) => h("div.prose", {}, plainCopy(html)));
  }

  definitions(set) {
    this.show(set, SETS[set]);
    fill(
      this.body,
      this.labels[set].map((one) =>
        h(
          "section.label-card",
          {},
          h("h3", {}, one.label.replaceAll("_", " ")),
          h("p", {}, one.definition),
          h("p", {}, h("b", {}, "In doubt: "), one.boundary),
          h("p.hint", {}, one.anchor),
        ),
      ),
    );
    this.body.focus();
  }
}
