// Sortable tables, for every page. Text of users goes into the page by textContent alone.
"use strict";
const gdamn = (() => {
  const SVG = "http://www.w3.org/2000/svg";
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

  // ---- tables that are wider than their place say so
  const cue = (region) => {
    const hidden = region.scrollWidth - region.clientWidth;
    region.classList.toggle("more-right", hidden - region.scrollLeft > 2);
    region.classList.toggle("more-left", hidden > 2 && region.scrollLeft > 2);
  };
  const watched = new ResizeObserver((entries) => entries.forEach((entry) => cue(entry.target)));
  const watchScroll = (region) => {
    region.addEventListener("scroll", () => cue(region), { passive: true });
    watched.observe(region);
  };
  document.querySelectorAll(".scroll").forEach(watchScroll);

  const data = JSON.parse(byId("data").textContent);
  return { byId, make, draw, sortBy, makeSortable, watchScroll, data };
})();
