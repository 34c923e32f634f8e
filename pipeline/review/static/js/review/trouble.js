// What happens when the server does not take a change: both sides are shown and the person decides. Nothing of theirs
// is thrown away without being asked.

import * as api from "../api.js";
import { dialog, note } from "../dialogs.js";
import { freshId, h } from "../dom.js";
import { finding } from "./editor.js";
import { nameOf, readable } from "./fields.js";
import { moment } from "../times.js";

/** Handle every failure of an outbox. */
export class Trouble {
  constructor(outbox, rows, user) {
    this.outbox = outbox;
    this.rows = rows;
    this.user = user;
    this.busy = false;
    outbox.addEventListener("failed", ({ detail }) => this.handle(detail));
  }

  /** Show the dialog of a failure that still waits for a decision. */
  again() {
    if (this.outbox.failed) this.handle(this.outbox.failed);
  }

  async handle({ change, error }) {
    if (this.busy) return;
    this.busy = true;
    try {
      if (error.code === "signed_out") await this.signIn();
      else if (error.code === "conflict") await this.conflict(change, error);
      else if (error.code === "has_errors") await this.notVerified(change, error);
      else await this.refused(change, error);
    } finally {
      this.busy = false;
      // The next change of the queue may have failed while this one was decided.
      if (this.outbox.failed && this.outbox.failed.change !== change) this.again();
    }
  }

  // --- conflict

  async conflict(change, error) {
    const { conflicts } = error.more;
    const choices = await dialog("Someone changed the same field meanwhile", (close) => {
      const groups = conflicts.map((one) => this.sides(one));
      return [
        h("p", {}, "Choose what stands. The saved value stays in the history; yours is given up where you choose the other one."),
        groups.map((group) => group.element),
        h(
          "div.actions",
          {},
          h("button", { type: "button", on: { click: () => close(null) } }, "Decide later"),
          h(
            "button.primary",
            { type: "button", on: { click: () => close(groups.map((group) => group.chosen())) } },
            "Save my choice",
          ),
        ),
      ];
    });
    if (!choices) return;
    const edits = [];
    for (const edit of change.edits) {
      const at = conflicts.findIndex((one) => one.row_id === edit.row_id);
      if (at < 0) {
        edits.push(edit);
        continue;
      }
      const { row } = conflicts[at];
      const solved = solve(edit, conflicts[at], choices[at]);
      if (solved) edits.push({ ...solved, base_version: row.version });
    }
    this.take(conflicts.map((one) => one.row));
    await this.outbox.settle(change, edits);
    note(edits.length ? "Your choice is being saved." : "The other version stands.");
  }

  sides({ row_id: id, fields }) {
    const index = this.rows.index;
    const names = fields.map((_, at) => `${freshId("side")}-${at}`);
    const side = (field, at, which, who, value, checked) => {
      const input = h("input", { type: "radio", name: names[at], value: which, checked });
      return h(
        "label.side",
        {},
        input,
        h("div", {}, h("div.who", {}, who), h("div.value", {}, readable(field, value, index))),
      );
    };
    const element = h(
      "section",
      {},
      h("h3", {}, `Row ${index.get(id) ?? ""}`),
      fields.map((one, at) =>
        h(
          "fieldset.group.differing",
          {},
          h("legend", {}, nameOf(one.field)),
          h(
            "div",
            {},
            h("p.hint", {}, "Before: ", readable(one.field, one.base, index)),
            h(
              "div.sides",
              {},
              side(one.field, at, "yours", "Yours, now", one.yours, true),
              side(
                one.field,
                at,
                "theirs",
                `${one.by === this.user.name ? "Yours, in another window" : one.by}, ${moment(one.at)}`,
                one.theirs,
                false,
              ),
            ),
          ),
        ),
      ),
    );
    const chosen = () =>
      Object.fromEntries(
        fields.map((one, at) => [one.field, element.querySelector(`input[name="${names[at]}"]:checked`).value]),
      );
    return { element, chosen };
  }

  /** Rows as they are on the server now. */
  take(rows) {
    this.rows.take({ version: this.rows.version, rows });
  }

  // --- other answers

  async notVerified(change, error) {
    const edits = change.edits
      .map(({ status, ...rest }) => rest)
      .filter((edit) => edit.op !== "edit" || Object.keys(edit.fields ?? {}).length);
    await this.outbox.settle(change, edits);
    const found = error.more.findings ?? [];
    await dialog(
      "Not verified: the row has errors",
      (close) => [
        found.map(finding),
        h("p", {}, "It is kept as a draft. Correct what is said here, or discard the row with a reason."),
        h("div.actions", {}, h("button.primary", { type: "button", on: { click: () => close() } }, "Back to the row")),
      ],
      { narrow: true },
    );
  }

  signIn() {
    return dialog(
      "You were signed out",
      (close) => {
        const name = h("input", {
          id: freshId("name"),
          type: "text",
          value: this.user.name,
          autocomplete: "username",
          readonly: true,
        });
        const password = h("input", {
          id: freshId("password"),
          type: "password",
          autocomplete: "current-password",
          required: true,
        });
        const said = h("p.notice.error", { role: "alert", hidden: true });
        const go = async (event) => {
          event.preventDefault();
          try {
            await api.session.signIn(name.value, password.value);
            close();
            this.outbox.retry();
          } catch (error) {
            said.hidden = false;
            said.textContent = error.message;
          }
        };
        return h(
          "form.stack",
          { on: { submit: go } },
          h("p", {}, "Your changes wait in this browser and are sent once you have signed in again."),
          h("div.field", {}, h("label", { for: name.id }, "Name"), name),
          h("div.field", {}, h("label", { for: password.id }, "Password"), password),
          said,
          h("div.actions", {}, h("button.primary", { type: "submit" }, "Sign in")),
        );
      },
      { narrow: true, firm: true },
    );
  }

  async refused(change, error) {
    const text = JSON.stringify(change.edits, null, 2);
    const answer = await dialog("The server did not take a change", (close) => [
      h("p.notice.error", { role: "alert" }, [error.message, error.hint].filter(Boolean).join(" — ")),
      (error.more.places ?? []).map((place) => h("p.hint", {}, `${place.place}: ${place.message}`)),
      h("p", {}, "It waits in this browser. This is what it holds:"),
      h("pre.prose", { tabindex: "0" }, text),
      h(
        "div.actions",
        {},
        h("button.danger", { type: "button", on: { click: () => close("drop") } }, "Give this change up"),
        h("button", { type: "button", on: { click: () => close("again") } }, "Send it again"),
        h("button.primary", { type: "button", on: { click: () => close(null) } }, "Decide later"),
      ),
    ]);
    if (answer === "drop") await this.outbox.settle(change);
    if (answer === "again") this.outbox.retry();
  }
}

/** The edit that is left of one after the choice; null if nothing is. */
function solve(edit, conflict, choice) {
  const mine = (field) => choice[field] !== "theirs";
  if (edit.op !== "edit") return Object.keys(choice).every(mine) ? edit : null;
  // Discarding is no field that an edit sets: where it stands, the edit falls away.
  if ("discarded" in choice && !mine("discarded")) return null;
  const fields = Object.fromEntries(Object.entries(edit.fields ?? {}).filter(([field]) => mine(field)));
  const solved = { ...edit, fields };
  if (edit.status && !mine("status")) delete solved.status;
  if (!Object.keys(fields).length && !solved.status) return null;
  // A field that was chosen from the other side was seen: the row may stay verified only if this edit says so.
  return conflict.row.discarded && edit.op === "edit" ? null : solved;
}
