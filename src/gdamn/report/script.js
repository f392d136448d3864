// Theme, sortable tables and the explorer. Text of users goes into the page by textContent alone.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SPLITS = ["training", "validation", "test", "none"];
  const DRAWN = 48; // neighbours in a drawing; more would be a blot
  const LISTED = 200; // rows of a table of neighbours
  const MATCHES = 20;
  const byId = (id) => document.getElementById(id);

  const make = (tag, content, attributes = {}) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (content instanceof Node) element.append(content);
    else if (content !== undefined && content !== null) element.textContent = content;
    return element;
  };
  const draw = (tag, attributes = {}, title = "") => {
    const element = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (title) {
      const text = document.createElementNS(SVG, "title");
      text.textContent = title;
      element.append(text);
    }
    return element;
  };

  // ---- theme
  const theme = byId("theme");
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const nameTheme = () => { theme.textContent = isDark() ? "Light theme" : "Dark theme"; };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  theme.hidden = false;
  nameTheme();

  // ---- sortable tables
  const valueOf = (row, column) => {
    const given = row.cells[column].dataset.value;
    if (given === undefined) return null;
    return given !== "" && Number.isFinite(Number(given)) ? Number(given) : given;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  const sortBy = (table, column, descending) => {
    const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, column), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null); // what is missing stays at the end
      return descending ? compare(b, a) : compare(a, b);
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      if (at === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };
  const makeSortable = (table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", head.textContent, { type: "button" });
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const numbers = head.classList.contains("number");
        sortBy(table, column, now ? now === "ascending" : numbers);
      });
      head.replaceChildren(button);
    });
  };
  document.querySelectorAll("table[data-sortable]").forEach(makeSortable);

  // ---- explorer
  const data = JSON.parse(byId("data").textContent);
  if (!data.nodes || !byId("explore")) return;
  const { nodes, edges, classes } = data;
  const links = nodes.id.map(() => []); // of each node: edge number and the other end
  edges.a.forEach((a, edge) => {
    links[a].push([edge, edges.b[edge]]);
    links[edges.b[edge]].push([edge, a]);
  });
  const labelOf = (node) => (nodes.label[node] < 0 ? "unknown" : classes[nodes.label[node]]);
  const predicted = (node) => nodes.top[node * nodes.tops];
  const kind = (node) => (nodes.label[node] < 0 ? predicted(node) : nodes.label[node]);
  const percent = (thousandths) => `${(thousandths / 10).toFixed(1)} %`;
  // What the first end of an edge takes from the second is kept under the name, the way back under nameBack.
  const weight = (name, edge, receiver) => {
    if (!edges[name]) return null;
    const back = edges[`${name}Back`];
    const value = back && edges.a[edge] !== receiver ? back[edge] : edges[name][edge];
    return value < 0 ? edges[name][edge] / 1e4 : value / 1e4;
  };
  const mean = (name, edge) => (weight(name, edge, edges.a[edge]) + weight(name, edge, edges.b[edge])) / 2;
  const isCut = (edge) => data.attention && mean("hard", edge) < data.cutBelow;
  const before = (edge) => (edges.before ? edges.before[edge] / 1000 : 1);

  const table = (caption, columns, rows) => {
    const region = make("div", null, { class: "scroll tall", tabindex: "0", role: "region", "aria-label": caption });
    const element = make("table");
    element.append(make("caption", caption));
    const head = element.createTHead().insertRow();
    for (const [name, number] of columns) {
      head.append(make("th", name, { scope: "col", ...(number ? { class: "number" } : {}) }));
    }
    const body = element.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      row.forEach(([content, value], at) => {
        const cell = make("td", null, columns[at][1] ? { class: "number" } : {});
        cell.append(content instanceof Node ? content : make("bdi", content));
        if (value !== null && value !== undefined) cell.dataset.value = value;
        line.append(cell);
      });
    }
    makeSortable(element);
    region.append(element);
    return region;
  };
  const nodeButton = (node) => {
    if (node >= data.centres) return make("bdi", nodes.id[node]);
    const button = make("button", make("bdi", nodes.id[node]), { type: "button", class: "node" });
    button.addEventListener("click", () => show(node, true));
    return button;
  };

  // Eight colours as circles, then the same ones in other shapes.
  const COLOURS = 8;
  const SHAPES = [
    null,
    [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
    [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
    [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
  ];
  const body = (number, x, y, r, extra = "", title = "") => {
    const look = { class: `body class-${number % COLOURS} ${extra}` };
    const corners = SHAPES[Math.floor(number / COLOURS) % SHAPES.length];
    if (!corners) return draw("circle", { cx: x, cy: y, r, ...look }, title);
    return draw("polygon", { points: corners.map(([u, v]) => `${x + r * u},${y + r * v}`).join(" "), ...look }, title);
  };
  // A class looks the same for every node, unless there are more classes than looks.
  let looks = new Map();
  const chooseLooks = (present) => {
    const many = classes.length > COLOURS * SHAPES.length;
    looks = new Map(present.map((number, at) => [number, many ? at : number]));
  };
  const drawing = (name, node, around, widths, showCut, description) => {
    const figure = make("figure");
    figure.append(make("figcaption", name));
    const canvas = draw("svg", { class: "drawing", viewBox: "-230 -205 460 410", role: "img", "aria-label": description });
    const place = new Map([[node, [0, 0]]]);
    around.forEach(([, other], at) => {
      const ring = around.length > 20 && at % 2 ? 122 : 178;
      const angle = (2 * Math.PI * at) / around.length - Math.PI / 2;
      place.set(other, [ring * Math.cos(angle) * 1.12, ring * Math.sin(angle)]);
    });
    const line = (a, b, attributes, title) => {
      const [[x1, y1], [x2, y2]] = [place.get(a), place.get(b)];
      canvas.append(draw("line", { x1, y1, x2, y2, ...attributes }, title));
    };
    for (const [, other] of around) { // edges among the neighbours, once each
      for (const [edge, third] of links[other]) {
        if (third === node || !place.has(third) || edges.a[edge] !== other) continue;
        if (showCut && isCut(edge)) continue;
        line(other, third, { class: "link faint", "stroke-width": 1 });
      }
    }
    const most = Math.max(...around.map(([edge]) => widths(edge)), 1e-9);
    for (const [edge, other] of around) {
      const cut = showCut && isCut(edge);
      const width = cut ? 2 : 1 + (3.5 * widths(edge)) / most;
      const attributes = { class: cut ? "link cut" : "link", "stroke-width": width.toFixed(2) };
      line(node, other, attributes, `${nodes.id[other]}: ${cut ? "cut" : `weight ${widths(edge).toFixed(3)}`}`);
    }
    for (const [other, [x, y]] of [...place].reverse()) {
      const extra = `${other === node ? "centre" : ""} ${nodes.label[other] < 0 ? "unknown" : ""}`;
      const shape = body(looks.get(kind(other)), x, y, other === node ? 17 : 11, extra, `${nodes.id[other]}: ${labelOf(other)}`);
      if (other < data.centres && other !== node) shape.addEventListener("click", () => show(other, true));
      canvas.append(shape);
    }
    figure.append(canvas);
    return figure;
  };

  const fact = (name, value) => {
    const row = make("div");
    row.append(make("dt", name), make("dd", make("bdi", value)));
    return row;
  };
  const showAbout = (node) => {
    const right = nodes.label[node] < 0 ? "" : nodes.label[node] === predicted(node) ? " (right)" : " (wrong)";
    byId("about").replaceChildren(
      fact("Label", labelOf(node)),
      fact("Predicted", classes[predicted(node)] + right),
      fact("Confidence", percent(nodes.share[node * nodes.tops])),
      fact("Node set", SPLITS[nodes.split[node]]),
      fact("Neighbours", String(nodes.degree[node])),
    );
    const bars = make("div");
    bars.append(make("h4", "Calibrated probabilities", { class: "unseen" }));
    for (let at = 0; at < nodes.tops; at += 1) {
      const share = nodes.share[node * nodes.tops + at];
      const row = make("div", null, { class: "share" });
      const track = make("span", null, { class: "track", "aria-hidden": "true" });
      const filled = make("i");
      filled.style.width = `${share / 10}%`;
      track.append(filled);
      row.append(make("span", make("bdi", classes[nodes.top[node * nodes.tops + at]])), track, make("span", percent(share)));
      bars.append(row);
    }
    byId("bars").replaceChildren(...bars.childNodes);
  };
  // Where not all can be drawn: those of the least and of the most weight.
  const drawn = (node, all) => {
    if (all.length <= DRAWN) return all;
    const ranked = [...all].sort((x, y) => (data.attention ? mean("hard", x[0]) - mean("hard", y[0]) : 0));
    return [...ranked.slice(0, DRAWN / 2), ...ranked.slice(-DRAWN / 2)];
  };
  const showDrawings = (node, all) => {
    const around = drawn(node, all).sort((x, y) => kind(x[1]) - kind(y[1]));
    const present = [...new Set([node, ...around.map(([, other]) => other)].map(kind))].sort((x, y) => x - y);
    chooseLooks(present);
    const cut = all.filter(([edge]) => isCut(edge)).length;
    const few = around.length < nodes.degree[node] ? `, ${around.length} of ${nodes.degree[node]} neighbours drawn` : "";
    const figures = [
      drawing(`Before${few}`, node, around, before, false, `${nodes.id[node]} with ${all.length} neighbours, before`),
    ];
    if (data.attention) {
      const text = `${nodes.id[node]} after refinement: ${cut} of ${all.length} edges cut`;
      const name = `After: ${cut} of ${all.length} edges cut`;
      figures.push(drawing(name, node, around, (edge) => weight("stable", edge, node), true, text));
    }
    byId("drawings").replaceChildren(...figures);
    byId("legend").replaceChildren(...present.map((number) => {
      const item = make("li");
      const sign = draw("svg", { viewBox: "-12 -12 24 24", "aria-hidden": "true" });
      sign.append(body(looks.get(number), 0, 0, 10));
      item.append(sign, make("bdi", classes[number]));
      return item;
    }));
  };
  const showNeighbours = (node, all) => {
    const columns = [["neighbour"], ["label"], ["predicted"]];
    if (data.attention) columns.push(["hard", true], ["soft", true], ["stable", true], ["edge"]);
    const rows = all.slice(0, LISTED).map(([edge, other]) => {
      const row = [[nodeButton(other), nodes.id[other]], [labelOf(other), labelOf(other)]];
      row.push([classes[predicted(other)], classes[predicted(other)]]);
      if (data.attention) {
        for (const name of ["hard", "soft", "stable"]) {
          const value = name === "hard" ? mean(name, edge) : weight(name, edge, node);
          row.push([value.toFixed(name === "hard" ? 3 : 4), value]);
        }
        row.push(isCut(edge) ? ["cut", "cut"] : ["kept", "kept"]);
      }
      return row;
    });
    const of = rows.length < nodes.degree[node] ? ` (${rows.length} of ${nodes.degree[node]})` : "";
    const found = table(`Neighbours of ${nodes.id[node]}${of}`, columns, rows);
    if (data.attention) sortBy(found.querySelector("table"), 3, false);
    byId("neighbours").replaceChildren(found);
  };
  const show = (node, move) => {
    const all = links[node];
    byId("found").hidden = false;
    byId("found-title").replaceChildren("Node ", make("bdi", nodes.id[node]));
    byId("node").value = nodes.id[node];
    showAbout(node);
    showDrawings(node, all);
    showNeighbours(node, all);
    byId("status").textContent = `Node ${nodes.id[node]}: label ${labelOf(node)}, predicted ${classes[predicted(node)]}.`;
    if (move) byId("found-title").focus();
  };

  const search = (text) => {
    const wanted = text.trim();
    const exact = nodes.id.indexOf(wanted);
    if (exact >= 0 && exact < data.centres) return show(exact, true);
    const inside = wanted ? matching(wanted) : [];
    if (inside.length === 1) return show(inside[0], true);
    byId("status").textContent = inside.length
      ? `Several ids contain “${wanted}”: ${inside.slice(0, 8).map((node) => nodes.id[node]).join(", ")}…`
      : `No node “${wanted}” ${data.centres < data.totalNodes ? "among those in this page" : "in this graph"}.`;
    return undefined;
  };
  const matching = (text) => {
    const small = text.toLowerCase();
    const found = [];
    for (let node = 0; node < data.centres && found.length < MATCHES; node += 1) {
      if (nodes.id[node].toLowerCase().includes(small)) found.push(node);
    }
    return found;
  };
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(byId("node").value);
  });
  byId("node").addEventListener("input", (event) => {
    const text = event.target.value.trim();
    const found = text ? matching(text) : [];
    byId("matches").replaceChildren(...found.map((node) => make("option", null, { value: nodes.id[node] })));
  });
  byId("any").addEventListener("click", () => show(Math.floor(Math.random() * data.centres), true));

  const listSuspicious = () => {
    const { edge: found, suspicion, differ, planted } = data.suspicious;
    const columns = [["one end"], ["its label"], ["other end"], ["its label"], ["suspicion", true], ["labels differ", true]];
    if (data.attention) columns.push(["hard", true], ["stable", true]);
    if (planted) columns.push(["planted"]);
    const rows = found.map((edge, at) => {
      const [a, b] = [edges.a[edge], edges.b[edge]];
      const row = [a, b].flatMap((node) => [[nodeButton(node), nodes.id[node]], [labelOf(node), labelOf(node)]]);
      row.push([(suspicion[at] / 1e4).toFixed(3), suspicion[at]], [percent(differ[at]), differ[at]]);
      if (data.attention) {
        row.push([mean("hard", edge).toFixed(3), mean("hard", edge)], [mean("stable", edge).toFixed(4), mean("stable", edge)]);
      }
      if (planted) row.push(planted[at] ? ["yes", "yes"] : ["no", "no"]);
      return row;
    });
    const made = table(`${rows.length} of ${data.totalEdges.toLocaleString("en")} edges`, columns, rows);
    sortBy(made.querySelector("table"), 4, true); // equal ones stay in the order of the ranking
    byId("suspicious").replaceChildren(made);
  };
  byId("explore").hidden = false;
  listSuspicious();
  if (data.centres) show(data.suspicious.edge.length ? edges.a[data.suspicious.edge[0]] : 0, false);
})();
