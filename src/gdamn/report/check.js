// What to check next: lists that sort, filter, and save as CSV what they show.
(() => {
  const { byId, make, data } = gdamn;
  const { labelOf, classOf, predicted, nameOf, percent, mean, isCut, nodeCell, table } = gdamn.graph;
  const { nodes, edges, classes, check } = data;

  // A field of a CSV file (RFC 4180).
  const field = (value) => (/[",\r\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  const save = (name, lines) => {
    const text = lines.map((line) => line.map(field).join(",")).join("\r\n");
    const address = URL.createObjectURL(new Blob([`${text}\r\n`], { type: "text/csv" }));
    const link = make("a", null, { href: address, download: `${name}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };

  // Rows are { cells, csv }: what the table shows, and what the file has, in the order of `heads`.
  const list = (id, caption, columns, heads, rows) => {
    const place = byId(id);
    if (!place || !rows.length) return;
    const made = table(caption, columns, rows.map((row) => row.cells));
    const lines = [...made.querySelector("tbody").rows];
    const fields = new Map(lines.map((line, at) => [line, rows[at].csv]));
    const words = new Map(lines.map((line, at) => [line, rows[at].csv.join(" ").toLowerCase()]));
    const tools = make("div", null, { class: "tools" });
    const input = make("input", null, { type: "search", id: `${id}-filter`, autocomplete: "off", spellcheck: "false" });
    const count = make("span", `${rows.length} rows`, { class: "quiet", role: "status" });
    const button = make("button", "Save CSV", { type: "button" });
    tools.append(make("label", "Filter", { for: `${id}-filter` }), input, count, button);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase().split(/\s+/);
      lines.forEach((line) => { line.hidden = !wanted.every((word) => words.get(line).includes(word)); });
      const left = lines.filter((line) => !line.hidden).length;
      count.textContent = left < lines.length ? `${left} of ${lines.length} rows` : `${lines.length} rows`;
    });
    button.addEventListener("click", () => {
      const shown = [...made.querySelector("tbody").rows].filter((line) => !line.hidden);
      save(id, [heads, ...shown.map((line) => fields.get(line))]);
    });
    place.append(tools, made);
  };
  const named = (...columns) => (nodes.name ? columns : []);

  const edgeRow = (edge, suspicion, planted) => {
    const [a, b] = [edges.a[edge], edges.b[edge]];
    const wrong = edges.wrong[edge];
    const cells = [[`${wrong} %`, suspicion === undefined ? wrong : suspicion]];
    cells.push(...[a, b].map((node) => [nodeCell(node), nodes.id[node]]));
    cells.push(...[a, b].map((node) => [classOf(node), classOf(node)]));
    const csv = [nodes.id[a], nodes.id[b], ...named(nameOf(a), nameOf(b)), wrong / 100, classOf(a), classOf(b)];
    if (data.attention) {
      const fate = isCut(edge) ? "cut" : "kept";
      cells.push([fate, fate], [mean("hard", edge).toFixed(3), mean("hard", edge)], [mean("stable", edge).toFixed(4), mean("stable", edge)]);
      csv.push(fate, mean("hard", edge).toFixed(4), mean("stable", edge).toFixed(4));
    }
    if (planted !== undefined) {
      const text = planted ? "yes" : "no";
      cells.push([text, text]);
      csv.push(text);
    }
    return { cells, csv };
  };
  const attention = data.attention ? [["edge"], ["hard", true], ["stable", true]] : [];
  const edgeColumns = [["wrong", true], ["one end"], ["other end"], ["its class"], ["other’s class"], ...attention];
  const edgeHeads = ["source", "target", ...named("source_name", "target_name"), "probability_wrong", "source_class", "target_class"];
  if (data.attention) edgeHeads.push("edge", "hard", "stable");
  const { edge: doubtful, suspicion, planted } = check.edges;
  const marks = planted ? [["planted"]] : [];
  list(
    "doubtful-edges",
    `${doubtful.length} of ${data.totalEdges.toLocaleString("en")} edges`,
    [...edgeColumns, ...marks],
    [...edgeHeads, ...marks.flat()],
    doubtful.map((edge, at) => edgeRow(edge, suspicion[at], planted && planted[at])),
  );
  list("odd-edges", `${check.odd.edge.length} kept edges`, edgeColumns, edgeHeads, check.odd.edge.map((edge) => edgeRow(edge)));

  const share = (node, at) => nodes.share[node * nodes.tops + at];
  const top = (node, at) => classes[nodes.top[node * nodes.tops + at]];
  list(
    "uncertain-nodes",
    `${check.nodes.node.length} of ${data.totalNodes.toLocaleString("en")} nodes`,
    [["node"], ["confidence", true], ["predicted"], ["or"], ["its share", true], ["label"], ["neighbours", true]],
    ["node", ...named("name"), "confidence", "predicted", "second", "second_share", "label", "neighbours"],
    check.nodes.node.filter((node) => node < data.centres).map((node) => {
      const second = nodes.tops > 1 ? [top(node, 1), share(node, 1)] : ["–", 0];
      return {
        cells: [
          [nodeCell(node), nodes.id[node]], [percent(share(node, 0)), share(node, 0)], [classes[predicted(node)], classes[predicted(node)]],
          [second[0], second[0]], [percent(second[1]), second[1]], [labelOf(node), labelOf(node)], [String(nodes.degree[node]), nodes.degree[node]],
        ],
        csv: [nodes.id[node], ...named(nameOf(node)), share(node, 0) / 1000, top(node, 0), second[0], second[1] / 1000, labelOf(node), nodes.degree[node]],
      };
    }),
  );

  if (check.labels) {
    const { node: found, probability, suggested, share: shares } = check.labels;
    list(
      "suspicious-labels",
      `${found.length} training labels`,
      [["node"], ["label"], ["its share", true], ["rather"], ["its share", true]],
      ["node", ...named("name"), "label", "label_probability", "suggested", "suggested_probability"],
      found.map((node, at) => ({
        cells: [
          [nodeCell(node), nodes.id[node]], [labelOf(node), labelOf(node)], [percent(probability[at]), probability[at]],
          [classes[suggested[at]], classes[suggested[at]]], [percent(shares[at]), shares[at]],
        ],
        csv: [nodes.id[node], ...named(nameOf(node)), labelOf(node), probability[at] / 1000, classes[suggested[at]], shares[at] / 1000],
      })),
    );
  }
})();
