// The explorer: one node, its neighbours before and after, and a table of them.
(() => {
  const { byId, make, draw, sortBy, data } = gdamn;
  const {
    labelOf, predicted, kind, nameOf, percent, weight, mean, isCut, COLOURS, SHAPES, body, legendItem, legendLine, picture,
    nodeCell, table, matching,
  } = gdamn.graph;
  const SPLITS = ["training", "validation", "test", "none"];
  const DRAWN = 48; // neighbours in a drawing; more would be a blot
  const LISTED = 200; // rows of a table of neighbours
  const MATCHES = 20;
  const { nodes, edges, classes } = data;
  const all = [...Array(data.centres).keys()];
  const links = nodes.id.map(() => []); // of each node: edge number and the other end
  edges.a.forEach((a, edge) => {
    links[a].push([edge, edges.b[edge]]);
    links[edges.b[edge]].push([edge, a]);
  });
  const before = (edge) => (edges.before ? edges.before[edge] / 1000 : 1);

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
      const extra = `${other === node ? "centre" : ""} ${nodes.label[other] < 0 ? "hollow" : ""}`;
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
    const known = nameOf(node) ? [fact("Name", nameOf(node))] : [];
    byId("about").replaceChildren(
      ...known,
      fact("Label", labelOf(node)),
      fact("Predicted", classes[predicted(node)] + right),
      fact("Confidence", percent(nodes.share[node * nodes.tops])),
      fact("Node set", SPLITS[nodes.split[node]]),
      fact("Neighbours", String(nodes.degree[node])),
    );
    const bars = make("div");
    const drawn = picture(node, 96);
    if (drawn) bars.append(drawn);
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
    const items = present.map((number) => legendItem(body(looks.get(number), 0, 0, 10), classes[number]));
    items.push(legendLine("link", data.attention ? "edge; the wider, the more weight" : "edge"));
    if (data.attention) items.push(legendLine("link cut", "cut edge"));
    if ([node, ...around.map(([, other]) => other)].some((other) => nodes.label[other] < 0)) {
      items.push(legendItem(draw("circle", { r: 9, class: "body hollow" }), "label unknown: rim in the predicted class"));
    }
    byId("legend").replaceChildren(...items);
  };
  const showNeighbours = (node, around) => {
    const columns = [["neighbour"]];
    if (data.attention) columns.push(["edge"]);
    columns.push(["label"], ["predicted"], ["wrong", true]);
    if (data.attention) columns.push(["hard", true], ["soft", true], ["stable", true]);
    const rows = around.slice(0, LISTED).map(([edge, other]) => {
      const row = [[nodeCell(other), nodes.id[other]]];
      if (data.attention) row.push(isCut(edge) ? ["cut", "cut"] : ["kept", "kept"]);
      row.push([labelOf(other), labelOf(other)], [classes[predicted(other)], classes[predicted(other)]]);
      row.push([`${edges.wrong[edge]} %`, edges.wrong[edge]]);
      if (data.attention) {
        for (const name of ["hard", "soft", "stable"]) {
          const value = name === "hard" ? mean(name, edge) : weight(name, edge, node);
          row.push([value.toFixed(name === "hard" ? 3 : 4), value]);
        }
      }
      return row;
    });
    const of = rows.length < nodes.degree[node] ? ` (${rows.length} of ${nodes.degree[node]})` : "";
    const found = table(`Neighbours of ${nodes.id[node]}${of}`, columns, rows);
    sortBy(found.querySelector("table"), data.attention ? 5 : 3, !data.attention);
    byId("neighbours").replaceChildren(found);
  };
  const show = (node, move) => {
    const around = links[node];
    byId("found").hidden = false;
    byId("found-title").replaceChildren("Node ", make("bdi", nodes.id[node]));
    byId("node").value = nodes.id[node];
    showAbout(node);
    showDrawings(node, around);
    showNeighbours(node, around);
    byId("status").textContent = `Node ${nodes.id[node]}: label ${labelOf(node)}, predicted ${classes[predicted(node)]}.`;
    if (move) byId("found-title").focus();
    document.dispatchEvent(new CustomEvent("shown", { detail: node }));
  };
  gdamn.show = show;

  const search = (text) => {
    const wanted = text.trim();
    const found = matching(wanted, all, MATCHES);
    if (found.length && (found.length === 1 || nodes.id[found[0]] === wanted)) return show(found[0], true);
    byId("status").textContent = found.length
      ? `Several nodes match “${wanted}”: ${found.slice(0, 8).map((node) => nodes.id[node]).join(", ")}…`
      : `No node “${wanted}” ${data.centres < data.totalNodes ? "among those in this page" : "in this graph"}.`;
    return undefined;
  };
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(byId("node").value);
  });
  byId("node").addEventListener("input", (event) => {
    const found = matching(event.target.value, all, MATCHES);
    byId("matches").replaceChildren(...found.map((node) => make("option", nameOf(node), { value: nodes.id[node] })));
  });
  byId("any").addEventListener("click", () => show(Math.floor(Math.random() * data.centres), true));
  byId("explore").hidden = false;
  const first = data.check.edges.edge[0];
  if (data.centres) show(first === undefined ? 0 : edges.a[first], false);
})();
