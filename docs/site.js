/* Wide tables can be scrolled by keyboard; the search and the buttons of each block of code have a name. */
const tidy = () => {
  document.querySelector(".md-search:not([aria-label])")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((box) => {
    const before = document.querySelectorAll(".md-typeset__scrollwrap[tabindex]").length;
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `Table ${before + 1}`);
  });
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((nav) => {
    const before = document.querySelectorAll(".md-code__nav[aria-label]").length;
    nav.setAttribute("aria-label", `Buttons of code block ${before + 1}`);
  });
};
new MutationObserver(tidy).observe(document.documentElement, { childList: true, subtree: true });
addEventListener("load", tidy);
