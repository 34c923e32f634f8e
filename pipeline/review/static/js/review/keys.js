// Which key does what on the screen of one conversation.

/**
 * All actions that have a key; `changes` marks those that a reader does not have.
 * @param {import("../views/work.js").Workspace} desk
 */
export function actions(desk) {
  const { player, timeline, editor } = desk;
  const action = (group, keys, name, run, more = {}) => ({ group, keys: [].concat(keys), name, run, ...more });
  const change = (group, keys, name, run, more = {}) => action(group, keys, name, run, { changes: true, ...more });
  const leave = () => {
    if (desk.drawer.open) desk.drawer.close();
    else {
      editor.flush();
      desk.list.list.focus({ preventScroll: true });
    }
  };
  return [
    action("Play", " ", "Play or pause", () => desk.toggle()),
    action("Play", "r", "Play the row", () => desk.playRow()),
    action("Play", "l", "Loop the row", () => player.setLoop(!player.loop)),
    action("Play", ",", "One frame back", () => player.step(-1)),
    action("Play", ".", "One frame on", () => player.step(1)),
    action("Play", "ArrowLeft", "One second back", () => desk.seek(player.time - 1)),
    action("Play", "ArrowRight", "One second on", () => desk.seek(player.time + 1)),
    action("Play", "<", "Slower", () => player.faster(-1)),
    action("Play", ">", "Faster", () => player.faster(1)),
    action("Rows", ["j", "ArrowDown"], "Next row", () => desk.go(1)),
    action("Rows", ["k", "ArrowUp"], "Row before", () => desk.go(-1)),
    action("Rows", "u", "Next row that is not verified", () => desk.nextUnverified()),
    change("Rows", "v", "Verify, and on to the next row", () => desk.verify()),
    change("Rows", "[", "Start of the row to the playhead", () => desk.setEdge("start_time")),
    change("Rows", "]", "End of the row to the playhead", () => desk.setEdge("end_time")),
    change("Rows", "s", "Split at the playhead", () => desk.split()),
    change("Rows", "m", "Merge with the next row", () => desk.merge()),
    change("Rows", "n", "Insert a row at the playhead", () => desk.insert()),
    change("Rows", "x", "Discard with a reason, or bring back", () => desk.discard()),
    change("Rows", "z", "Undo", () => desk.undo()),
    change("Rows", "y", "Redo", () => desk.redo()),
    action("Form", "e", "Edit the words", () => editor.focus("dialogue_cleaned")),
    action("Form", "w", "Choose the speaker", () => editor.focus("primary_speaker")),
    action("Form", "t", "Choose to whom", () => editor.focus("target")),
    action("Form", "q", "Type of utterance", () => editor.focus("utterance_type")),
    action("Form", "p", "Relation pattern", () => editor.focus("relation_pattern")),
    change("Form", "1", "Add an emotion", () => editor.add("internal_emotion")),
    change("Form", "2", "Add a viewpoint", () => editor.add("viewpoints_attitudes")),
    change("Form", "3", "Add a support strategy", () => editor.add("support_strategy")),
    change("Form", "4", "Add a behaviour toward someone", () => editor.add("interaction_behavior")),
    change("Form", "5", "Add a facial expression", () => editor.add("facial_expressions")),
    change("Form", "6", "Add background speech", () => editor.add("background_dialogue")),
    action("While typing", "F2", "Play the row", () => desk.playRow(), { typing: true }),
    action("While typing", "F4", "Loop the row", () => player.setLoop(!player.loop), { typing: true }),
    change("While typing", "F8", "Verify, and on to the next row", () => desk.verify(), { typing: true }),
    action("While typing", "Escape", "Leave the field, close the panel", leave, { typing: true }),
    action("View", ["+", "="], "Zoom in", () => timeline.zoom(1.5)),
    action("View", "-", "Zoom out", () => timeline.zoom(1 / 1.5)),
    action("View", "0", "Whole recording", () => timeline.fit()),
    action("View", "g", "Guidelines", () => desk.drawer.toggleGuidelines()),
    action("View", "h", "History of the row", () => desk.rowHistory()),
    action("View", "?", "This list", () => desk.help()),
  ];
}
