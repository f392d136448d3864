// What the parts of a run's page share: the graph as the page knows it, the looks of classes, tables of nodes.
gdamn.graph = (() => {
  const { make, draw, makeSortable, watchScroll, data } = gdamn;
  const { nodes, edges, classes } = data;
  const labelOf = (node) => (nodes.label[node] < 0 ? "unknown" : classes[nodes.label[node]]);
  const predicted = (node) => (node < data.centres ? nodes.top[node * nodes.tops] : nodes.guess[node - data.centres]);
  const kind = (node) => (nodes.label[node] < 0 ? predicted(node) : nodes.label[node]);
  const classOf = (node) => (nodes.label[node] < 0 ? `${classes[predicted(node)]} (predicted)` : classes[nodes.label[node]]);
  const nameOf = (node) => (nodes.name && nodes.name[node]) || "";
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
  const looksWrong = (edge) => edges.wrong[edge] > 50;

  // Eight colours as circles, then the same ones in other shapes; corners are in units of the radius.
  const COLOURS = 8;
  const SHAPES = [
    null,
    [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]],
    [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
    [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
  ];
  const cornersOf = (number) => SHAPES[Math.floor(number / COLOURS) % SHAPES.length];
  const body = (number, x, y, r, extra = "", title = "") => {
    const look = { class: `body class-${number % COLOURS} ${extra}` };
    const corners = cornersOf(number);
    if (!corners) return draw("circle", { cx: x, cy: y, r, ...look }, title);
    return draw("polygon", { points: corners.map(([u, v]) => `${x + r * u},${y + r * v}`).join(" "), ...look }, title);
  };
  const legendItem = (sign, text) => {
    const item = make("li");
    const picture = draw("svg", { viewBox: "-12 -12 24 24", "aria-hidden": "true" });
    picture.append(sign);
    item.append(picture, make("bdi", text));
    return item;
  };
  const legendLine = (looks, text) => legendItem(draw("line", { x1: -11, y1: 0, x2: 11, y2: 0, class: looks, "stroke-width": 3 }), text);

  // The picture that a node's features are, a hexadecimal digit per pixel.
  const picture = (node, size = 32) => {
    if (!nodes.picture || node >= data.centres) return null;
    const [rows, columns] = nodes.pixels;
    const canvas = make("canvas", null, { class: "picture", width: columns, height: rows, role: "img", "aria-label": `Picture of node ${nodes.id[node]}` });
    canvas.style.width = `${size}px`;
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    [...nodes.picture[node]].forEach((sign, at) => {
      const grey = 255 - 17 * parseInt(sign, 16);
      image.data.set([grey, grey, grey, 255], 4 * at);
    });
    context.putImageData(image, 0, 0);
    return canvas;
  };
  // A node in a table: its picture, its id as a button that opens it, its name.
  const nodeCell = (node) => {
    const cell = make("span", null, { class: "node-cell" });
    const drawn = picture(node);
    if (drawn) cell.append(drawn);
    const text = make("span");
    if (node < data.centres) {
      const button = make("button", make("bdi", nodes.id[node]), { type: "button", class: "node" });
      button.addEventListener("click", () => gdamn.show(node, true));
      text.append(button);
    } else text.append(make("bdi", nodes.id[node]));
    if (nameOf(node)) text.append(make("bdi", nameOf(node), { class: "name", title: nameOf(node) }));
    cell.append(text);
    return cell;
  };
  // Columns are [name, whether it holds numbers]; cells are [text or element, what they are sorted by].
  const table = (caption, columns, rows) => {
    const region = make("div", null, { class: "scroll tall", tabindex: "0", role: "region", "aria-label": caption });
    const element = make("table");
    element.append(make("caption", caption));
    const head = element.createTHead().insertRow();
    for (const [name, number] of columns) {
      head.append(make("th", name, { scope: "col", ...(number ? { class: "number" } : {}) }));
    }
    const lines = element.createTBody();
    for (const row of rows) {
      const line = lines.insertRow();
      row.forEach(([content, value], at) => {
        const cell = make("td", null, columns[at][1] ? { class: "number" } : {});
        cell.append(content instanceof Node ? content : make("bdi", content));
        if (value !== null && value !== undefined) cell.dataset.value = value;
        line.append(cell);
      });
    }
    makeSortable(element);
    region.append(element);
    watchScroll(region);
    return region;
  };
  // Nodes whose id or name has the text; one whose id is the text comes first.
  const matching = (text, among, most) => {
    const small = text.trim().toLowerCase();
    if (!small) return [];
    const found = [];
    for (const node of among) {
      const id = nodes.id[node].toLowerCase();
      if (id === small) found.unshift(node);
      else if (found.length < most && (id.includes(small) || nameOf(node).toLowerCase().includes(small))) found.push(node);
    }
    return found.slice(0, most);
  };
  return {
    labelOf, predicted, kind, classOf, nameOf, percent, weight, mean, isCut, looksWrong, COLOURS, SHAPES, cornersOf, body,
    legendItem, legendLine, picture, nodeCell, table, matching,
  };
})();
