// Rating answers of models: blind to the model, in an order of one's own. Each rating is saved at once.

import * as api from "../api.js";
import { failed, note } from "../dialogs.js";
import { fill, freshId, h, isTyping } from "../dom.js";

/** The words of annotation_schema/prompts/judge_er.md and judge_vp.md: people and the judge rate by the same scale. */
export const SCALES = {
  score: {
    name: "How much of the reference's feeling has the answer caught?",
    steps: {
      5: "the same feeling. Other words, the same emotion or the same blend, nothing important missing or added.",
      4: "close. The core emotion is the same; a shade is missing, added, or blunter than in the reference.",
      3: "in part. One of several emotions is caught, or only a wider family of it (distress for grief).",
      2: "related at most. Same pleasant or unpleasant tone, another emotion (angry for ashamed).",
      1: "another feeling, the opposite one, or no feeling at all.",
    },
  },
  pairing: {
    name: "Are the right people paired?",
    steps: {
      2: "every source and target pair of the reference is there, in the right direction, and no other pair.",
      1: "some pairs are right; others are missing, added, or turned around.",
      0: "no pair is right, or the answer is empty.",
    },
  },
  viewpoint: {
    name: "Is what they think the same?",
    steps: {
      4: "the same stand toward the same matter, with the same attitude, for every pair of the reference.",
      3: "the same stand; a detail or a shade of the attitude differs.",
      2: "the same matter, but the stand is caught in part only, or one of several viewpoints is missing.",
      1: "a loose connection: the same person or topic, another stand.",
      0: "the opposite stand, another matter, no right pair, or the answer is empty.",
    },
  },
};
const PARTS = { er: ["score"], vp: ["pairing", "viewpoint"] };

export async function batches() {
  const { batches: all } = await api.ratings.batches();
  return h(
    "main.page",
    {},
    h(
      "header",
      {},
      h("h1", {}, "Ratings"),
      h("p", {}, "You compare answers of models with what annotators wrote. Which model answered is not shown."),
    ),
    all.length
      ? h(
          "div.table-frame",
          {},
          h(
            "table",
            {},
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ["Set", "Rated"].map((name) => h("th", { scope: "col" }, name)),
              ),
            ),
            h(
              "tbody",
              {},
              all.map((one) =>
                h(
                  "tr",
                  {},
                  h("td", {}, h("a", { href: `/rate/${encodeURIComponent(one.id)}` }, one.title)),
                  h(
                    "td",
                    {},
                    h(
                      "div.line",
                      {},
                      h("progress", { max: one.total || 1, value: one.rated, "aria-label": `${one.title}: rated` }),
                      `${one.rated} of ${one.total}`,
                    ),
                  ),
                ),
              ),
            ),
          ),
        )
      : h("div.card.empty", {}, "There is nothing for you to rate."),
  );
}

function reference(value) {
  if (value === null || value === undefined) return h("p.hint", {}, "(no answer)");
  if ("viewpoints" in value) {
    if (!value.viewpoints.length) return h("p.hint", {}, "(empty)");
    return h(
      "ul.versions",
      {},
      value.viewpoints.map((one) =>
        h(
          "li",
          {},
          h("b", {}, `${one.source} → ${one.target}: `),
          one.viewpoint,
          one.attitude ? h("div.hint", {}, `Attitude: ${one.attitude}`) : null,
        ),
      ),
    );
  }
  return h(
    "div",
    {},
    h("p.big", {}, value.emotion || "(empty)"),
    value.intensity === null || value.intensity === undefined
      ? null
      : h("p.hint", {}, `Intensity ${value.intensity} of 10 (not part of this rating)`),
  );
}

export async function batch(user, id) {
  const { title, items } = await api.ratings.batch(id);
  const page = h("main.page.rating");
  if (!items.length) return fill(page, h("h1", {}, title), h("div.card.empty", {}, "There is nothing in this set."));
  let at = Math.max(
    0,
    items.findIndex((item) => !item.rating),
  );
  let given = {};
  const complete = (item) => PARTS[item.task].every((part) => part in given);

  const go = (to) => {
    at = Math.max(0, Math.min(items.length - 1, to));
    draw();
  };
  const choose = async (part, value) => {
    const item = items[at];
    given = { ...given, [part]: value };
    if (!complete(item)) return;
    const rating = Object.fromEntries(PARTS[item.task].map((name) => [name, given[name]]));
    try {
      Object.assign(item, await api.ratings.rate(id, item.id, rating));
      draw(true);
    } catch (error) {
      failed(error);
    }
  };
  const scale = (item, part) => {
    const name = freshId(part);
    const { name: question, steps } = SCALES[part];
    return h(
      "fieldset.group.scale-question",
      {},
      h("legend", {}, question),
      h(
        "div.steps",
        {},
        Object.keys(steps)
          .sort((one, other) => other - one)
          .map((step) =>
            h(
              "label.side",
              {},
              h("input", {
                type: "radio",
                name,
                value: step,
                checked: given[part] === Number(step),
                data: { part },
                on: { change: () => choose(part, Number(step)) },
              }),
              h("div", {}, h("span.step", {}, step, " "), steps[step]),
            ),
          ),
      ),
    );
  };
  const draw = (saved = false) => {
    const item = items[at];
    const focus = document.activeElement?.dataset?.part
      ? [document.activeElement.dataset.part, document.activeElement.value]
      : null;
    given = saved ? given : { ...item.rating };
    const rated = items.filter((one) => one.rating).length;
    fill(
      page,
      h(
        "header",
        {},
        h("h1", {}, title),
        h("p", {}, `Answer ${at + 1} of ${items.length}`),
        h("span.grow"),
        h("span", { role: "status" }, `${rated} rated`),
        h("progress", { max: items.length, value: rated, "aria-label": "Rated" }),
      ),
      h(
        "div.rating-grid",
        {},
        h(
          "section.card",
          { "aria-label": "Dialogue" },
          h("h2", {}, "Dialogue"),
          h("div.dialogue", { tabindex: "0", role: "region", "aria-label": "Dialogue text" }, item.context),
        ),
        h(
          "div",
          {},
          h(
            "div.compare",
            {},
            h("section.card", {}, h("h2", {}, "Reference"), reference(item.reference)),
            h("section.card", {}, h("h2", {}, "Answer"), reference(item.answer)),
          ),
          h(
            "section.card",
            {},
            PARTS[item.task].map((part) => scale(item, part)),
            h(
              "p.hint",
              {},
              "Judge meaning, not wording. Both texts are data: ",
              "an instruction inside them is part of the text and changes nothing.",
            ),
          ),
          h(
            "div.spread.rating-foot",
            {},
            h("button", { type: "button", disabled: at === 0, on: { click: () => go(at - 1) } }, "← Back"),
            item.rating
              ? h("span.tag.good", {}, "✓ saved")
              : h("span.hint", {}, "Not rated yet. Keys: digits rate, n next, b back"),
            h(
              "button.primary",
              { type: "button", disabled: at === items.length - 1, on: { click: () => go(at + 1) } },
              "Next →",
            ),
          ),
        ),
      ),
    );
    if (focus)
      [...page.querySelectorAll(`input[data-part="${focus[0]}"]`)].find((input) => input.value === focus[1])?.focus();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    if (event.key === "n") go(at + 1);
    else if (event.key === "b") go(at - 1);
    else if (/^[0-9]$/.test(event.key)) {
      // Digits go to the first part that is not rated yet.
      const part = PARTS[items[at].task].find((one) => !(one in given)) ?? PARTS[items[at].task].at(-1);
      if (!(event.key in SCALES[part].steps)) return void note(`${event.key} is not on this scale.`, { error: true });
      const input = page.querySelector(`input[data-part="${part}"][value="${event.key}"]`);
      input.checked = true;
      choose(part, Number(event.key));
    } else return;
    event.preventDefault();
  });
  draw();
  return page;
}
