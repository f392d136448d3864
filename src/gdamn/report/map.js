// The map: all nodes of the graph, or a sample, with a slider between the edges before and after.
(() => {
  const { byId, make, draw, data } = gdamn;
  const { kind, labelOf, nameOf, looksWrong, COLOURS, SHAPES, cornersOf, body, legendItem, legendLine, matching } = gdamn.graph;
  const { nodes, edges, classes, map } = data;
  const LEVELS = 8; // strengths that edges are drawn in
  const LEAST_ZOOM = 0.5;
  const MOST_ZOOM = 60;
  const MATCHES = 20;
  const QUICK = 6000; // edges that are drawn while something moves; all of them once it rests
  const REST = 150; // milliseconds
  const NEAR = 14; // pixels around a node that count as a click on it
  const count = map.node.length;
  const x = map.x.map((value) => value / 1000);
  const y = map.y.map((value) => value / 1000);
  const placeOf = new Map(map.node.map((node, at) => [node, at]));
  const drawnEdges = map.edge || edges.a.map((_, edge) => edge);
  const ends = drawnEdges.map((edge) => [placeOf.get(edges.a[edge]), placeOf.get(edges.b[edge])]);
  const wrong = drawnEdges.map(looksWrong);
  const canvas = byId("canvas");
  const slider = byId("when");
  const only = byId("wrong-only");
  const view = { zoom: 1, x: 0, y: 0 };
  let chosen = null; // places on the map, not numbers of nodes
  let hovered = null;
  const touching = ends.reduce((lists, [a, b], at) => {
    lists[a].push(at);
    lists[b].push(at);
    return lists;
  }, map.node.map(() => []));

  // ---- colours of the theme
  let colours = {};
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    colours = { edge: get("--edge"), wrong: get("--danger"), ink: get("--ink"), ground: get("--raised") };
    colours.classes = [...Array(COLOURS).keys()].map((number) => get(`--class-${number}`));
  };

  // ---- edges: sorted by strength again when the slider moves
  const time = () => (slider ? slider.value / 100 : 0);
  const strength = (at) => {
    const t = map.after ? time() : 0;
    return ((1 - t) * map.before[at] + t * (map.after ? map.after[at] : 0)) / 100;
  };
  let levels = []; // of right and wrong edges, those of each strength
  let opacity = 1; // of many edges each is fainter
  const makeLevels = () => {
    levels = [0, 1].map(() => Array.from({ length: LEVELS + 1 }, () => []));
    ends.forEach((_, at) => {
      if (only.checked && !wrong[at]) return;
      levels[wrong[at] ? 1 : 0][Math.ceil(strength(at) * LEVELS)].push(at);
    });
    const total = levels.flatMap((lists) => lists.slice(1)).reduce((sum, list) => sum + list.length, 0);
    opacity = Math.max(0.06, Math.min(0.8, 1500 / Math.max(total, 1)));
  };
  const strokeEdges = (context, list, px, py, each) => {
    for (let at = 0; at < list.length; at += each) { // a path of each edge: browsers are slow with paths of very many
      const [a, b] = ends[list[at]];
      context.beginPath();
      context.moveTo(px(a), py(a));
      context.lineTo(px(b), py(b));
      context.stroke();
    }
  };

  // ---- drawing, in units of the map, which goes from -1 to 1
  const scaleOf = (width, height) => (0.46 * Math.min(width, height)) * view.zoom;
  const radius = (zoom = view.zoom) => Math.max(2, Math.min(8, 150 / Math.sqrt(count))) * Math.min(3, Math.max(1, zoom ** 0.5));
  const outline = (context, number, px, py, r) => {
    const corners = cornersOf(number);
    if (!corners) {
      context.moveTo(px + r, py);
      context.arc(px, py, r, 0, 2 * Math.PI);
      return;
    }
    corners.forEach(([u, v], at) => context[at ? "lineTo" : "moveTo"](px + r * u, py + r * v));
    context.closePath();
  };
  const byKind = new Map();
  map.node.forEach((node, at) => {
    const number = kind(node);
    if (!byKind.has(number)) byKind.set(number, []);
    byKind.get(number).push(at);
  });
  const present = [...byKind.keys()].sort((a, b) => a - b);
  const repeated = classes.length > COLOURS * SHAPES.length; // more classes than looks
  const lookOf = new Map(present.map((number, at) => [number, repeated ? at : number]));
  const someUnknown = map.node.some((node) => nodes.label[node] < 0);

  const paint = (context, width, height, each = 1) => {
    const scale = scaleOf(width, height);
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    const px = (at) => width / 2 + view.x + scale * x[at];
    const py = (at) => height / 2 + view.y + scale * y[at];
    levels.forEach((lists, marked) => {
      context.strokeStyle = marked ? colours.wrong : colours.edge;
      lists.forEach((list, level) => {
        if (!level) return;
        context.globalAlpha = Math.min(1, opacity * Math.sqrt(view.zoom) * (level / LEVELS) * each);
        context.lineWidth = 0.6 + 0.9 * (level / LEVELS);
        strokeEdges(context, list, px, py, each);
      });
    });
    context.globalAlpha = 1;
    const r = radius();
    if (chosen !== null) {
      for (const at of touching[chosen]) {
        const shown = strength(at);
        if (!shown) continue;
        const [a, b] = ends[at];
        context.strokeStyle = wrong[at] ? colours.wrong : colours.ink;
        context.lineWidth = 1 + shown;
        context.beginPath();
        context.moveTo(px(a), py(a));
        context.lineTo(px(b), py(b));
        context.stroke();
      }
    }
    for (const number of present) {
      context.fillStyle = colours.classes[lookOf.get(number) % COLOURS];
      for (const known of [false, true]) {
        context.beginPath();
        for (const at of byKind.get(number)) {
          if ((nodes.label[map.node[at]] >= 0) === known) outline(context, lookOf.get(number), px(at), py(at), r);
        }
        context.strokeStyle = known && someUnknown ? colours.ink : colours.ground;
        context.lineWidth = 2;
        context.stroke(); // below the fill, so that nodes that lie close make one shape of their colour
        context.fill();
      }
    }
    for (const at of [hovered, chosen].filter((place) => place !== null)) {
      context.strokeStyle = colours.ink;
      context.lineWidth = 2.5;
      context.beginPath();
      context.arc(px(at), py(at), r + 4, 0, 2 * Math.PI);
      context.stroke();
      const node = map.node[at];
      const text = nameOf(node) ? `${nodes.id[node]}: ${nameOf(node)}` : nodes.id[node];
      const short = text.length > 48 ? `${text.slice(0, 47)}…` : text;
      context.font = "600 13px system-ui, sans-serif";
      const wide = context.measureText(short).width;
      const left = Math.max(4, Math.min(width - wide - 4, px(at) + r + 8));
      context.lineWidth = 4;
      context.strokeStyle = colours.ground;
      context.strokeText(short, left, py(at) - r - 4);
      context.fillStyle = colours.ink;
      context.fillText(short, left, py(at) - r - 4);
    }
  };
  let waiting = false;
  let resting = 0;
  const redraw = (quick = false) => {
    clearTimeout(resting);
    const each = quick ? Math.ceil(ends.length / QUICK) : 1;
    if (each > 1) resting = setTimeout(() => redraw(), REST);
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const ratio = window.devicePixelRatio || 1;
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      if (!width) return;
      if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
      if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
      const context = canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      paint(context, width, height, each);
    });
  };

  // ---- moving about
  const zoomBy = (factor, px = canvas.clientWidth / 2, py = canvas.clientHeight / 2) => {
    const zoom = Math.max(LEAST_ZOOM, Math.min(MOST_ZOOM, view.zoom * factor));
    const by = zoom / view.zoom;
    const [dx, dy] = [px - canvas.clientWidth / 2, py - canvas.clientHeight / 2];
    view.x = dx - (dx - view.x) * by;
    view.y = dy - (dy - view.y) * by;
    view.zoom = zoom;
    redraw(true);
  };
  const showAll = () => {
    Object.assign(view, { zoom: 1, x: 0, y: 0 });
    redraw();
  };
  const centreOn = (at) => {
    const scale = scaleOf(canvas.clientWidth, canvas.clientHeight);
    Object.assign(view, { x: -scale * x[at], y: -scale * y[at] });
    redraw();
  };
  const nearest = (px, py, within = NEAR) => {
    const scale = scaleOf(canvas.clientWidth, canvas.clientHeight);
    const [u, v] = [px - canvas.clientWidth / 2 - view.x, py - canvas.clientHeight / 2 - view.y];
    let best = null;
    let least = Math.max(within, radius()) ** 2;
    for (let at = 0; at < count; at += 1) {
      const distance = (scale * x[at] - u) ** 2 + (scale * y[at] - v) ** 2;
      if (distance < least) [best, least] = [at, distance];
    }
    return best;
  };
  const status = (at) => {
    const node = map.node[at];
    const name = nameOf(node) ? `, ${nameOf(node)}` : "";
    const bad = touching[at].filter((edge) => wrong[edge]).length;
    byId("map-status").textContent =
      `Node ${nodes.id[node]}${name}: label ${labelOf(node)}, ${touching[at].length} edges on the map, ${bad} look wrong. Enter opens it.`;
  };
  const choose = (at, centre) => {
    chosen = at;
    status(at);
    if (centre) centreOn(at);
    redraw();
  };
  const open = (at) => {
    choose(at, false);
    gdamn.show(map.node[at], true);
  };

  // ---- pointers: drag moves, two fingers zoom, a click opens
  const pointers = new Map();
  let moved = 0;
  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, spot(event));
    if (pointers.size === 1) moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const [px, py] = spot(event);
    const last = pointers.get(event.pointerId);
    if (!last) {
      const found = nearest(px, py, 8);
      canvas.style.cursor = found === null ? "grab" : "pointer";
      if (found !== hovered) {
        hovered = found;
        redraw();
      }
      return;
    }
    const other = [...pointers].find(([id]) => id !== event.pointerId);
    moved += Math.abs(px - last[0]) + Math.abs(py - last[1]);
    if (other) {
      const [[ox, oy], far] = [other[1], ([u, v]) => Math.hypot(u - other[1][0], v - other[1][1])];
      zoomBy(Math.max(1, far([px, py])) / Math.max(1, far(last)), (px + ox) / 2, (py + oy) / 2);
    } else {
      view.x += px - last[0];
      view.y += py - last[1];
      redraw(true);
    }
    pointers.set(event.pointerId, [px, py]);
  });
  const release = (event) => {
    const alone = pointers.size === 1;
    pointers.delete(event.pointerId);
    if (event.type !== "pointerup" || !alone || moved > 6) return;
    const found = nearest(...spot(event));
    if (found !== null) open(found);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => {
    hovered = null;
    redraw();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== canvas) return; // the page scrolls on
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 300), ...spot(event));
  }, { passive: false });

  // ---- keys
  const step = (by) => choose(((chosen === null ? (by > 0 ? -1 : 0) : chosen) + by + count) % count, true);
  const keys = {
    ArrowLeft: () => { view.x += 60; redraw(); },
    ArrowRight: () => { view.x -= 60; redraw(); },
    ArrowUp: () => { view.y += 60; redraw(); },
    ArrowDown: () => { view.y -= 60; redraw(); },
    "+": () => zoomBy(1.3),
    "=": () => zoomBy(1.3),
    "-": () => zoomBy(1 / 1.3),
    0: showAll,
    n: () => step(1),
    p: () => step(-1),
    Enter: () => {
      const at = chosen === null ? nearest(canvas.clientWidth / 2, canvas.clientHeight / 2, Infinity) : chosen;
      if (at !== null) open(at);
    },
  };
  canvas.addEventListener("keydown", (event) => {
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || !count || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  byId("zoom-in").addEventListener("click", () => zoomBy(1.4));
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / 1.4));
  byId("zoom-all").addEventListener("click", showAll);

  // ---- search
  byId("map-search").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = byId("map-node").value;
    const [found] = matching(text, map.node, MATCHES);
    if (found === undefined) {
      byId("map-status").textContent = `No node “${text.trim()}” on this map.`;
      return;
    }
    view.zoom = Math.max(view.zoom, 4);
    choose(placeOf.get(found), true);
    canvas.focus();
  });
  byId("map-node").addEventListener("input", (event) => {
    const found = matching(event.target.value, map.node, MATCHES);
    byId("map-matches").replaceChildren(...found.map((node) => make("option", nameOf(node), { value: nodes.id[node] })));
  });
  document.addEventListener("shown", (event) => {
    const at = placeOf.get(event.detail);
    if (at === undefined) return;
    chosen = at;
    redraw();
  });

  // ---- slider, legend, words, picture
  const changed = () => {
    makeLevels();
    redraw(true);
    if (slider) slider.setAttribute("aria-valuetext", slider.value === "0" ? "before" : slider.value === "100" ? "after" : `${slider.value} % of the way`);
  };
  if (slider) slider.addEventListener("input", changed);
  only.addEventListener("change", changed);
  const words = () => {
    const total = (flags) => flags.filter(Boolean).length.toLocaleString("en");
    const bad = total(wrong);
    const text = `${count.toLocaleString("en")} nodes and ${ends.length.toLocaleString("en")} edges before, ${bad} of which look wrong`;
    if (!map.after) return `${text}. This method cuts no edge.`;
    const kept = map.after.map((value) => value > 0);
    return `${text}; ${total(kept)} edges after, ${total(kept.map((flag, at) => flag && wrong[at]))} of which look wrong.`;
  };
  byId("map-text").textContent = words();
  const items = present.map((number) => legendItem(body(lookOf.get(number), 0, 0, 9), classes[number]));
  items.push(legendLine("link", "edge"), legendLine("link wrong", "edge that looks wrong"));
  if (someUnknown) items.push(legendItem(draw("circle", { r: 8, class: "body known" }), "dark rim: label known; others as predicted"));
  byId("map-legend").replaceChildren(...items);
  byId("map-save").addEventListener("click", () => {
    const picture = document.createElement("canvas");
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    Object.assign(picture, { width: 2 * width, height: 2 * height });
    const context = picture.getContext("2d");
    context.scale(2, 2);
    paint(context, width, height);
    picture.toBlob((blob) => {
      const address = URL.createObjectURL(blob);
      make("a", null, { href: address, download: "map.png" }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
  });
  document.addEventListener("theme", () => {
    readColours();
    redraw();
  });
  byId("map-tools").hidden = false;
  readColours();
  changed();
  new ResizeObserver(() => redraw()).observe(canvas);
})();
