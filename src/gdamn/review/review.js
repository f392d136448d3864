// One item at a time. Text of users goes into the page by textContent alone; the log on disk is the only memory.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const about = JSON.parse(byId("data").textContent);
  const KINDS = { edges: "edge", labels: "label", nodes: "node" };
  const TITLES = { edges: "Edges", labels: "Labels", nodes: "Nodes to label" };
  const SPLITS = { train: "training node", val: "validation node", test: "test node", none: "no label", new: "new node" };
  const EVERY = 2000; // milliseconds after which a page looks for what another tab decided
  let state = null;
  let busy = false;

  const make = (tag, content, attributes = {}) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (content instanceof Node) element.append(content);
    else if (content !== undefined && content !== null) element.textContent = content;
    return element;
  };
  const named = new Map(about.classes); // as it is shown: what draws nothing is spelled out
  const percent = (share, digits = 0) => {
    const text = (100 * share).toFixed(digits);
    return Number(text) === 100 && share < 1 ? `> ${(100 - 10 ** -digits).toFixed(digits)} %` : `${text} %`;
  };
  const counted = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
  const say = (text) => { byId("status").textContent = text; };

  // ---- the server
  const ask = async (path, content) => {
    const options = content === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content),
    };
    const answer = await fetch(path, options);
    const found = await answer.json();
    if (found.error) throw new Error(found.error);
    return found;
  };
  const working = async (path, content, done) => {
    if (busy) return;
    busy = true;
    try {
      const found = await ask(path, content);
      show(found);
      say(found.said ?? done ?? "");
    } catch (problem) {
      say(problem instanceof TypeError ? "No answer: is gdamn review still running? Nothing was written." : problem.message);
    } finally {
      busy = false;
    }
  };

  // ---- decisions
  const decide = (verdict, label = "") => {
    const item = state && state.item;
    if (!item) return;
    const { kind, node, other = "" } = item;
    const words = { right: "Right", wrong: "Wrong", unsure: "Unsure" }[verdict];
    working("decide", { queue: state.queue, kind, node, other, verdict, label, rows: state.rows }, `${words}: written.`);
  };
  const shownLabel = (item) => (item.kind === "label" ? item.label : item.predicted);
  const right = () => decide("right", state.item && state.item.kind !== "edge" ? shownLabel(state.item) : "");
  const choose = (name) => decide(name === shownLabel(state.item) ? "right" : "wrong", name);
  const undo = () => working("undo", {}, "Undone.");
  const turn = (queue) => working(`state?queue=${encodeURIComponent(queue)}`, undefined, "");

  // Classes that are digits have their own keys; else the first nine are counted.
  const digits = about.classes.every(([name]) => /^[0-9]$/.test(name));
  const classKeys = new Map(digits || about.classes.length <= 9
    ? about.classes.map(([name], at) => [digits ? name : String(at + 1), name]) : []);

  const keys = new Map([["r", right], ["w", () => decide("wrong")], ["u", () => decide("unsure")], ["z", undo]]);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !state) return;
    if (event.target instanceof Element && event.target.closest("select, input, textarea")) return;
    const key = event.key.toLowerCase();
    if (state.item && state.item.kind !== "edge" && classKeys.has(key)) choose(classKeys.get(key));
    else if (key === "c" && !byId("pick").hidden) byId("class").focus();
    else if (key === "q") turnOn();
    else if (keys.has(key)) keys.get(key)();
    else return;
    event.preventDefault();
  });
  const turnOn = () => {
    const names = Object.keys(KINDS);
    turn(names[(names.indexOf(state.queue) + 1) % names.length]);
  };
  byId("pick").addEventListener("submit", (event) => {
    event.preventDefault();
    choose(byId("class").value);
    byId("question").focus();
  });

  // ---- one end of an item
  const list = (title, rows) => {
    const items = make("ul");
    for (const [left, right] of rows) {
      const row = make("li", make("span", left));
      row.append(make("span", right));
      items.append(row);
    }
    const block = make("div", make("h4", title));
    block.append(items);
    return block;
  };
  const picture = (image, name) => {
    const canvas = make("canvas", "", { class: "picture", role: "img", "aria-label": `The image of ${name}`, width: image.columns, height: image.rows });
    const pen = canvas.getContext("2d");
    image.pixels.forEach((value, at) => {
      const grey = Math.round(255 * (1 - value));
      pen.fillStyle = `rgb(${grey} ${grey} ${grey})`;
      pen.fillRect(at % image.columns, Math.floor(at / image.columns), 1, 1);
    });
    return canvas;
  };
  const opinions = (node) => {
    const block = make("div", make("h4", "The model's opinion"));
    for (const [name, share] of node.opinions) {
      const row = make("div", make("span", name), { class: "share" });
      const bar = make("i");
      bar.style.width = `${100 * share}%`;
      row.append(make("span", bar, { class: "track", "aria-hidden": "true" }), make("span", percent(share, 1)));
      block.append(row);
    }
    return block;
  };
  const end = (node) => {
    const block = make("div", make("h3", make("bdi", node.name)), { class: "end" });
    const part = node.training_label === null ? SPLITS[node.split] ?? node.split : `training label: ${node.training_label}`;
    const many = counted(node.degree, "neighbour");
    block.append(make("p", `${part} · ${many}`));
    if (node.image) block.append(picture(node.image, node.name));
    block.append(opinions(node));
    if (node.features) {
      const rows = node.features.map(([name, value]) => [name, value.toPrecision(2)]);
      block.append(rows.length ? list("Features that stand out", rows) : make("p", "All features are 0."));
    }
    if (node.neighbours.length) {
      const rows = node.neighbours.map((each) => [each.name, each.known ? `${each.label} (known)` : `${each.label} · ${percent(each.confidence)}`]);
      block.append(list(node.more ? `Neighbours, and ${node.more} more` : "Neighbours", rows));
    }
    return block;
  };

  // ---- the page
  const texts = (item) => {
    if (item.kind === "edge") {
      return [
        `Does the edge ${item.nodes[0].name} – ${item.nodes[1].name} belong here?`,
        `Right: the two go together, as nodes of one class do. Wrong edges are cut. Suspicion ${percent(Math.min(item.suspicion, 0.9999))}; they share ${counted(item.shared, "neighbour")}.`,
      ];
    }
    if (item.kind === "label") {
      return [
        `Is ${item.nodes[0].name} really ${item.nodes[0].training_label}?`,
        `Models that have not seen this label give it ${percent(item.label_probability, 1)}. They say ${named.get(item.suggested)} (${percent(item.suggested_probability, 1)}).`,
      ];
    }
    return [
      `What is ${item.nodes[0].name}?`,
      `Predicted: ${named.get(item.predicted)} (${percent(item.confidence)}), then ${named.get(item.second)} (${percent(item.second_probability)}). It stands for ${counted(item.stands_for, "node")} without a label.`,
    ];
  };
  const button = (key, text, act, disabled = false) => {
    const element = make("button", make("kbd", key), { type: "button", "aria-keyshortcuts": key });
    element.append(text);
    element.disabled = disabled;
    element.addEventListener("click", act);
    return element;
  };
  const showAnswers = (item) => {
    const before = document.activeElement instanceof Element ? document.activeElement.getAttribute("aria-keyshortcuts") : null;
    const inside = byId("answers").contains(document.activeElement);
    const found = [];
    if (item) {
      const known = item.kind === "edge" ? "Right" : item.kind === "label" ? "Right" : `Right: ${named.get(item.predicted)}`;
      const wrong = item.kind === "edge" ? "Wrong" : "Wrong, class unknown";
      found.push(button("R", known, right), button("W", wrong, () => decide("wrong")), button("U", "Unsure", () => decide("unsure")));
      if (item.kind !== "edge") {
        for (const [key, name] of classKeys) found.push(button(key, named.get(name), () => choose(name)));
      }
    }
    found.push(button("Z", "Undo", undo, !state.undoable));
    byId("answers").replaceChildren(...found);
    if (inside) (found.find((each) => each.getAttribute("aria-keyshortcuts") === before && !each.disabled) ?? found[0]).focus();
    byId("pick").hidden = !item || item.kind === "edge" || classKeys.size > 0;
    if (!byId("pick").hidden) byId("class").value = item.suggested ?? item.predicted;
  };
  const showQueues = () => {
    const inside = byId("queues").contains(document.activeElement);
    const found = Object.entries(state.queues).map(([name, { total, left }]) => {
      const element = make("button", `${TITLES[name]} `, { type: "button", "aria-pressed": String(name === state.queue) });
      element.append(make("span", `${total - left} / ${total}`, { class: "left" }));
      element.addEventListener("click", () => turn(name));
      return element;
    });
    const hint = make("p", make("kbd", "Q"), { id: "hint" });
    hint.append("next queue");
    byId("queues").replaceChildren(...found, hint);
    if (inside) found[Object.keys(state.queues).indexOf(state.queue)].focus();
  };
  const tile = (title, value, remark) => {
    const block = make("div", make("dt", title), { class: "tile" });
    block.append(make("dd", value, { class: "value" }), make("dd", remark, { class: "remark" }));
    return block;
  };
  const showTiles = () => {
    const titles = { edge: "Edges that were right", label: "Labels that were right", node: "Predictions that were right" };
    byId("tiles").replaceChildren(...Object.entries(state.answers).map(([kind, { right, accuracy, nodes, interval_95: ends }]) => {
      if (!nodes) return tile(titles[kind], "–", "none answered yet");
      const [low, high] = ends.map((each) => (100 * each).toFixed(0));
      return tile(titles[kind], percent(accuracy), `${right} of ${nodes} (95 % interval ${low}–${high} %)`);
    }));
  };
  const show = (found) => {
    state = found;
    const { item } = state;
    const { total, left, note } = state.queues[state.queue];
    const [question, reason] = item ? texts(item) : total
      ? ["This queue is done", "Take another queue, or train with your decisions."]
      : ["Nothing to decide here", note || "Take another queue."];
    byId("question").textContent = question;
    byId("reason").textContent = reason;
    byId("progress").max = Math.max(total, 1);
    byId("progress").value = total - left;
    byId("count").textContent = `${total - left} of ${total} decided`;
    byId("ends").replaceChildren(...(item ? item.nodes.map(end) : []));
    showQueues();
    showAnswers(item);
    showTiles();
  };
  const showChanges = () => {
    const found = about.changes;
    if (!found) return;
    byId("changes").hidden = false;
    const counts = `${found.cut} edges cut, ${found.confirmed} confirmed; ${found.corrected} labels corrected, ${found.added} added, ${found.dropped} dropped.`;
    const moved = found.changed === null
      ? "The run that was reviewed can't be found, so its predictions can't be compared."
      : `Against ${found.from}, ${found.changed.toLocaleString("en")} of ${found.nodes.toLocaleString("en")} predictions changed.`;
    byId("change-text").textContent = `${counts} ${moved}`;
  };

  byId("run").textContent = about.run;
  document.title = `Review of ${about.run} · gdamn`;
  byId("log").textContent = about.log;
  byId("command").textContent = about.next;
  byId("class").replaceChildren(...about.classes.map(([name, text]) => make("option", text, { value: name })));
  showChanges();
  byId("warning").textContent = about.warning ?? "";
  byId("warning").hidden = !about.warning;
  working("state");

  // What another tab decided: the same item may be done, and the counts are others.
  const look = async () => {
    if (busy || document.hidden || !state) return;
    try {
      const found = await ask(`state?queue=${encodeURIComponent(state.queue)}`);
      if (busy || found.rows === state.rows) return;
      const same = JSON.stringify(found.item) === JSON.stringify(state.item);
      show(found);
      if (!same) say("Another tab has decided; here is what is next.");
    } catch { /* the next answer tells */ }
  };
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
})();
