// The button between light and dark, for every page; other scripts hear of a change by the event "theme".
"use strict";
{
  const theme = document.getElementById("theme");
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const nameTheme = () => { theme.textContent = isDark() ? "Light theme" : "Dark theme"; };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
    document.dispatchEvent(new Event("theme"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    nameTheme();
    document.dispatchEvent(new Event("theme"));
  });
  theme.hidden = false;
  nameTheme();
}
